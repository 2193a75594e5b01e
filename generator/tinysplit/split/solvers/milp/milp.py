"""HiGHS on the splitting problem as a mixed integer linear program: an independent peer of the searches.

It knows every objective, limit and rule on chains and graphs, with the period `load`; the others are not linear.
"""

from dataclasses import replace
from time import perf_counter

from tinysplit.common.errors import UsageError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.explain.infeasible import check_memories, explain, explain_timeout
from tinysplit.split.problem import Assignment, Objective, Problem
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S, Split
from tinysplit.split.solvers.milp.constraints import SplitProgram
from tinysplit.split.solvers.milp.model import Solution
from tinysplit.split.solvers.milp.objectives import add_figures, is_linear
from tinysplit.split.solvers.milp.ram import add_ram


def milp(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S, known: Assignment | None = None) -> Split:
    """Return the best split that HiGHS finds, with its bound; nothing worse than `known` is looked at.

    UsageError for the periods that are not linear, CheckFailedError when nothing fits or nothing was found.
    """
    check_linear(problem)
    check_memories(problem)
    start = perf_counter()
    program = SplitProgram(_no_worse_than(known, problem) if known else problem)
    add_ram(program)
    add_figures(program)
    assignment, last, n_nodes = _solve(program, start + time_limit_s)
    assignment = assignment or known
    if assignment is None:
        raise explain(problem) if last.is_infeasible else explain_timeout(problem, time_limit_s)
    return Split(
        problem=problem,
        assignment=assignment,
        lower_bound=min(evaluate(problem, assignment).value, last.lower_bound),
        explored=n_nodes,
        solver="highs",
        spent_s=perf_counter() - start,
    )


def check_linear(problem: Problem) -> None:
    """Raise UsageError for a period that is not linear, where it counts."""
    if not is_linear(problem):
        raise UsageError(
            f"--solver highs knows no {problem.period_definition} period: take branch-and-bound or --period load"
        )


def _no_worse_than(known: Assignment, problem: Problem) -> Problem:
    value = evaluate(problem, known).value
    if problem.objective is Objective.LATENCY:
        return replace(problem, max_latency_s=min(value, problem.max_latency_s))
    if problem.objective is Objective.THROUGHPUT:
        return replace(problem, max_period_s=min(value, problem.max_period_s))
    return replace(problem, max_energy_j=min(value, problem.max_energy_j))


def _solve(program: SplitProgram, deadline: float) -> tuple[Assignment | None, Solution, int]:
    """Return the best assignment, what HiGHS said last, and the nodes that it looked at.

    HiGHS lets rows be broken by a rounding that we do not allow: such an assignment is excluded, and it goes on.
    """
    n_nodes = 0
    while True:
        solution = program.solve(deadline)
        n_nodes += solution.n_nodes
        if solution.values is None:
            return None, solution, n_nodes
        assignment = program.assignment(solution.values.tolist())
        if evaluate(program.problem, assignment).is_feasible:
            return assignment, solution, n_nodes
        program.exclude(assignment)
