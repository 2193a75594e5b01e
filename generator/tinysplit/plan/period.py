"""The period and the latency of a plan: those of a split, with the buffers that the generated boards have."""

from dataclasses import replace

from tinysplit.plan.plan import Plan
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.firmware import Firmware, FirmwareSimulation, program_period_s
from tinysplit.split.evaluate.steps import BoardStep, Kind, Program
from tinysplit.split.problem import Problem


def planned_period_s(plan: Plan, problem: Problem) -> float:
    """Return the period of the generated firmware in seconds; `problem` has the costs of its layers."""
    return program_period_s(problem, planned_program(plan, problem))


def overlapped_s(plan: Plan, problem: Problem) -> float:
    """Return by how many seconds an inference is shorter than all layers and transfers one after the other.

    They overlap where a tensor is streamed, and where boards of a distributed network work side by side.
    """
    if not problem.is_distributed:
        return plan.saved_s
    figures = evaluate(problem, plan.assignment)
    return figures.l_s + figures.t_s - FirmwareSimulation(problem, planned_program(plan, problem)).latency_s()


def planned_program(plan: Plan, problem: Problem) -> Program:
    """Return the steps of the generated firmware, with the buffers that it has."""
    stages = {board.index: board.stages for board in plan.boards}

    def is_staged(step: BoardStep) -> bool:
        own = stages[step.device]
        if step.kind is Kind.INPUT:
            return own.input is not None
        if step.kind is Kind.OUTPUT:
            return own.output is not None
        return step.transfer in own.cuts

    found = Firmware.of(problem, plan.assignment).program
    steps = (step if step.kind is Kind.RUN else step._replace(is_staged=is_staged(step)) for step in found.steps)
    return replace(found, steps=tuple(steps))
