"""Searches know the kernels of plans: bounds hold for everything that can be planned, by brute force."""

from collections.abc import Iterator
from functools import cache
from itertools import compress, product

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import AUTO, Optimize
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.plan.plan import Plan
from tinysplit.plan.planned_split import PlacedNetwork, with_programs
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.problem import Assignment, Objective, Problem
from tinysplit.split.solution import Placement, Split
from tinysplit.timing.figures import Timing

G0, L4 = "nucleo_g071rb", "nucleo_l4r5zi"
ROUNDING = 1e-9
FIRMWARE = shipped_table().firmware
LIMITS = (None, 39_500, 43_000, 48_000, 56_000)  # of flash: the last kernel that fits, to all of the fastest ones


@cache
def network(name: str) -> Graph:
    net = NetworkBuilder(name, Shape(16, 16, 8))
    if name == "convolutions":
        return net.conv(16, (3, 3)).conv(32, (3, 3), 2).conv(32, (1, 1)).conv(16, (3, 3)).conv(8, (1, 1)).graph()
    return net.conv(32, (1, 1)).depthwise((3, 3), stride=2).conv(64, (1, 1)).conv(32, (3, 3)).conv(16, (1, 1)).graph()


class Case:
    """A network on boards with the settings of kernels; transfers are whole, as what is proved is said of those."""

    def __init__(self, name: str, boards: tuple[str, ...], **settings: object) -> None:
        self.graph, self.boards = network(name), [load_board(each) for each in boards]
        self.settings = CostSettings(baud=921_600, hand_off=HandOffMode.WHOLE, **settings)  # type: ignore[arg-type]
        self.problem: Problem = make_problem(shipped_table(), self.graph, self.boards, self.settings)

    def plan(self, assignment: Assignment) -> Plan:
        widths = BitWidths.of(self.graph, self.settings.bits)
        placed = PlacedNetwork.of(self.graph, widths, len(self.boards), Placement((assignment,)))
        (plan,) = placed.plans(shipped_table(), self.boards, self.problem, self.settings)
        return plan

    def plans(self) -> Iterator[Plan]:
        """Yield the plans that fit, of every assignment: sizes are those of their kernels."""
        for assignment in product(range(len(self.boards)), repeat=len(self.graph.layers)):
            if self.settings.use_all and len(set(assignment)) < len(self.boards):
                continue
            try:
                plan = self.plan(assignment)
            except CheckFailedError:
                continue
            if all(used <= free for used, free in self.flash(plan)):
                yield plan

    def flash(self, plan: Plan) -> Iterator[tuple[int, int]]:
        """Yield what the program of each board takes of the flash at most, and what it may take."""
        widths = BitWidths.of(self.graph, self.settings.bits)
        for own, board in zip(plan.boards, self.settings.limited([each.board for each in plan.boards]), strict=True):
            choice = KernelChoice(shipped_table(), self.graph, widths, board)
            firmware = FIRMWARE[board.device.family]
            links = firmware.link_flash_bytes if own.links else 0
            layers = sum(choice.flash_bytes(*each) for each in own.memory.kernels.items())
            yield firmware.flash_bytes + links + layers, board.usable_flash_bytes

    def value(self, plan: Plan) -> float:
        figures = Timing((plan.program(),))
        throughput = self.settings.objective is Objective.THROUGHPUT
        return figures.period_s if throughput else figures.i_s

    def found(self) -> Split:
        n_links = [len(self.boards) - 1] * len(self.boards)
        split = solve_within_links(self.problem, n_links, AUTO)
        return with_programs(split, shipped_table(), self.graph, self.boards, self.settings)


def check(case: Case) -> Split | None:
    """Check the split that a search finds against all plans, None where there are none."""
    plans = list(case.plans())
    if not plans:
        with pytest.raises(CheckFailedError):
            case.found()
        return None
    found = case.found()
    assert found.value == case.value(case.plan(found.assignment))
    known = [evaluate(case.problem, plan.assignment) for plan in plans]
    assert all(each.is_feasible for each in known)
    if case.problem.minimises_ram:
        least_bytes = max(found.figures.ram_bytes)
        assert least_bytes == min(max(each.ram_bytes) for each in known)
        kept = [max(each.ram_bytes) == least_bytes for each in known]
        plans, known = list(compress(plans, kept)), list(compress(known, kept))
    assert found.lower_bound <= min(map(case.value, plans)) * (1 + ROUNDING)
    if found.proved:
        assert found.objective <= min(each.value for each in known) * (1 + ROUNDING)
    return found


@pytest.mark.parametrize("boards", [(G0, G0), (G0, L4)])
@pytest.mark.parametrize("name", ["convolutions", "fused"])
@pytest.mark.parametrize("optimize", Optimize)
def test_no_plan_is_below_the_bound_of_a_search(name: str, boards: tuple[str, ...], optimize: Optimize) -> None:
    found = check(Case(name, boards, optimize=optimize))
    assert found
    assert found.proved


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("use_all", [False, True])
def test_no_plan_within_a_limit_of_flash_is_below_the_bound(limit: int | None, *, use_all: bool) -> None:
    check(Case("convolutions", (G0, G0), max_flash_bytes=limit, use_all=use_all))


def test_kernels_of_little_ram_are_exchanged_for_flash() -> None:
    fast = Case("convolutions", (G0,), optimize=Optimize.RAM)
    (fast_bytes, _), *_ = fast.flash(fast.plan((0,) * 5))
    assert fast.problem.smaller
    (device,), smaller = fast.problem.devices, fast.problem.smaller
    firmware_bytes = load_board(G0).usable_flash_bytes - device.flash_bytes - device.link_flash_bytes
    least_bytes = firmware_bytes + sum(layer.flash_bytes[0] for layer in smaller.layers)
    assert least_bytes < fast_bytes
    for limit in (least_bytes, (least_bytes + fast_bytes) // 2, fast_bytes - 1):
        found = check(Case("convolutions", (G0,), optimize=Optimize.RAM, max_flash_bytes=limit))
        assert found
        assert found.i_s > fast.found().i_s
    assert check(Case("convolutions", (G0,), optimize=Optimize.RAM, max_flash_bytes=least_bytes - 1)) is None


def test_kernels_that_are_named_leave_less_flash_for_others() -> None:
    named, assignment = ((3, "direct"),), (0,) * 5
    cases = [Case("fused", (G0,), kernels=each) for each in ((), named)]
    usual_bytes, named_bytes = (next(case.flash(case.plan(assignment)))[0] for case in cases)
    assert usual_bytes < named_bytes
    assert check(Case("fused", (G0,), kernels=named, max_flash_bytes=named_bytes - 1))


@pytest.mark.parametrize("optimize", Optimize)
def test_no_plan_has_a_shorter_period(optimize: Optimize) -> None:
    check(Case("convolutions", (G0, G0), objective=Objective.THROUGHPUT, optimize=optimize, max_flash_bytes=48_000))
