"""Figures and Table 1 of Carballo-Hernández 2023: what follows from the published coefficients, and what does not."""

import sys
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from rich.console import Console

from tinysplit.common.extras import install_line
from tinysplit.papers.reproduce import division_tables
from tinysplit.papers.reproduce.division_figures import KNOWN_DIFFERENCES
from tinysplit.papers.reproduce.division_models import (
    CPU_MS,
    FIGURE_3_LAYER,
    FPGA_MS,
    GPU_MS,
    LINK_MS,
    NETWORKS,
    RESOURCES,
    ConvolutionSize,
    cpu_gpu_fpga_problem,
    gpu_fpga_problem,
)
from tinysplit.papers.reproduce.division_tables import WHOLE_NETWORK, division_rows, figure_3, figure_5, figure_9
from tinysplit.papers.reproduce.reproduction import Row
from tinysplit.papers.reproduce.reproduction_tables import print_reproduction
from tinysplit.papers.reproduce.tables import reproduce
from tinysplit.papers.solvers.geometric.exact import best_division
from tinysplit.papers.solvers.geometric.problem import CHANNELS
from tinysplit.papers.solvers.geometric.program import Formulation
from tinysplit.papers.solvers.geometric.tightening import equal_parts, tighten


@pytest.fixture(scope="module")
def rows() -> tuple[Row, ...]:
    return division_rows()


def of(rows: tuple[Row, ...], table: str, row: str) -> dict[str, str]:
    return {each.quantity: each.ours for each in rows if (each.table, each.row) == (table, row)}


def test_the_models_are_the_published_products() -> None:
    side, channels, kernel, filters = 56, 24, 3, 48
    at = {"side": side, CHANNELS: channels, "kernel": kernel, "filters": filters}
    gpu = 0.675727 * side**2 * (0.00944194 * channels + 0.134299)
    gpu *= (0.0423237 * kernel**2 + 0.168317 * kernel + 0.304588) * (0.0118405 * filters + 0.934776)
    cpu = 1.01167 * side**2 * (0.0204765 * channels + 0.01966)
    cpu *= (0.0782233 * kernel**2 + 0.169806 * kernel) * (0.0182906 * filters + 1.27499)
    fpga = (0.0543263 * side**2 + 0.00584136 * side) * (5.22384e-4 * channels**2 + 0.067842 * channels + 6.56093e-4)
    fpga *= 0.049669 * (0.00103166 * filters**2 + 0.0642811 * filters)
    link = 6.71808e-4 * side**2 * channels * 8 / 1024 + 0.00756679
    assert [float(model.of(at)) for model in (GPU_MS, CPU_MS, FPGA_MS, LINK_MS)] == pytest.approx(
        [gpu, cpu, fpga, link]
    )


def test_figure_3() -> None:
    found = figure_3()
    assert (found.accepted.weights, len(found.steps)) == ((170.0,), 17)
    assert found.accepted.division[0] == pytest.approx((13.75, 2.25), abs=0.005)
    assert found.channels == ((14, 2),)
    assert found.cost == pytest.approx(990.8, abs=0.05)
    assert found.problem.cost(equal_parts(found.problem)) == pytest.approx(1265.2, abs=0.05)


def test_formula_8_and_m20k_would_give_another_figure_3(rows: tuple[Row, ...]) -> None:
    assert of(rows, "Figure 3", "by formula 8") == {"alpha": "90"}
    assert of(rows, "Figure 3", "M20K limited") == {"alpha": "200", "FPGA + GPU": "13 + 3"}
    limited = gpu_fpga_problem(FIGURE_3_LAYER, resources=RESOURCES)
    assert limited.used(0, "M20K", [(14, 2)]) == pytest.approx(613.9, abs=0.05)
    assert limited.devices[0].limits["M20K"] == 587


@pytest.mark.parametrize(("resources", "best"), [(("ALM", "LAB"), (15, 1)), (("ALM", "LAB", "M20K"), (13, 3))])
def test_14_and_2_is_not_the_optimum(resources: tuple[str, ...], best: tuple[int, int]) -> None:
    problem = gpu_fpga_problem(FIGURE_3_LAYER, resources=resources)
    assert best_division(problem) == best
    feasible = [(n, 16 - n) for n in range(17) if problem.is_within_limits([(n, 16 - n)])]
    assert best == min(feasible, key=lambda parts: problem.layer_cost(0, parts))
    assert gpu_fpga_problem(FIGURE_3_LAYER).layer_cost(0, (15, 1)) == pytest.approx(945.5, abs=0.05)


def test_figure_3_condensed_anew_is_the_optimum(rows: tuple[Row, ...]) -> None:
    assert of(rows, "Figure 3", "condensed anew") == {"FPGA + GPU": "15 + 1"}
    assert of(rows, "Figure 3", "optimum") == {"FPGA + GPU": "15 + 1", "ms": "945.5"}


def test_figure_4(rows: tuple[Row, ...]) -> None:
    printed = {row.quantity: row for row in rows if row.table == "Figure 4"}
    assert printed["steps 1 to 17"].is_equal
    assert printed["after step 17"].is_equal


def test_figure_5() -> None:
    found = figure_5()
    assert found.channels == ((1, 13, 2),)
    assert found.accepted.weights == (190.0,)
    assert best_division(found.problem) == (1, 15, 0)


def test_figure_8(rows: tuple[Row, ...]) -> None:
    assert of(rows, "Figure 8", "k = 100") == {"norm of H - S": "0.05"}
    share = np.linspace(0, 1, 100)
    over_points = np.linalg.norm((share >= 1) - share**200)
    assert f"{over_points:.3f}" in KNOWN_DIFFERENCES["k = 100", "norm of H - S"]
    middles = (np.arange(100_000) + 0.5) / 100_000
    assert sqrt(np.mean(middles**400)) == pytest.approx(1 / sqrt(401), rel=1e-3)


def test_table_1(rows: tuple[Row, ...]) -> None:
    gains = [tuple(of(rows, "1", name).values()) for name in NETWORKS]
    assert gains == [("3.1", "5.7"), ("2.9", "6.4"), ("2.9", "6.4")]
    others = [row for row in rows if row.table == "1" and row.row not in NETWORKS]
    assert len(others) == 12
    assert all(not row.ours and row.why_not.startswith("not identifiable") for row in others)
    assert [row.published for row in others if "1.7 to 2.5" in row.why_not] == ["1.7 to 3.5"]


def test_the_gpu_alone_beats_the_published_divisions(rows: tuple[Row, ...]) -> None:
    seconds = {name: of(rows, "Figure 9", name) for name in NETWORKS}
    keys = ("s, as published", "s, CPU alone", "s, GPU alone", "s, FPGA alone")
    assert [tuple(seconds[name][key] for key in keys) for name in NETWORKS] == [
        ("142", "295", "113", "35"),
        ("298", "1085", "249", "451"),
        ("81", "218", "72", "46"),
    ]
    optima = ("s, optimum of the sum", "s, optimum side by side", "s, optimum, limited")
    assert [tuple(seconds[name][key] for key in optima) for name in NETWORKS] == [
        ("20", "12", "113"),
        ("160", "94", "249"),
        ("21", "13", "72"),
    ]


def test_figure_9_has_no_solution_within_the_resources(rows: tuple[Row, ...]) -> None:
    assert {of(rows, "Figure 9", name)["all resources limited"] for name in NETWORKS} == {"no solution"}
    first = cpu_gpu_fpga_problem(NETWORKS["AlexNet"][:1], resources=RESOURCES)
    assert first.used(1, "ALM", [(0, 1e-9, 3)]) / first.devices[1].limits["ALM"] == pytest.approx(9.4, abs=0.1)
    assert first.used(1, "ALM", [(3, 0, 0)]) == 0
    limited = (cpu_gpu_fpga_problem([size], resources=RESOURCES) for sizes in NETWORKS.values() for size in sizes)
    assert all(best_division(problem) == (0, 0, problem.layers[0].channels) for problem in limited)


def test_61_of_64_needs_the_maximum_and_352_of_512_is_not_met(rows: tuple[Row, ...]) -> None:
    printed = of(rows, "Figure 9", "ResNet18")
    assert (printed["layer 2, FPGA of 64"], printed["last layers, GPU of 512"]) == ("61", "329")
    early, late = NETWORKS["ResNet18"][1], NETWORKS["ResNet18"][-1]
    assert figure_9(early).channels[0] == (2, 51, 11)
    assert figure_9(late, side_by_side=True).channels[0] == (62, 142, 303)
    reason = KNOWN_DIFFERENCES["ResNet18", "last layers, GPU of 512"]
    assert "329 with the sum, 303 with the maximum" in reason


def test_a_program_of_the_whole_network_gives_the_same() -> None:
    sizes = NETWORKS["AlexNet"]
    together = tighten(cpu_gpu_fpga_problem(sizes), WHOLE_NETWORK)
    assert together.accepted.cost == pytest.approx(sum(figure_9(size).accepted.cost for size in sizes), rel=1e-3)
    weighted = replace(WHOLE_NETWORK, formulation=Formulation(min_channels=0.1, communication_k=100))
    without_link = tighten(cpu_gpu_fpga_problem(sizes), weighted)
    assert without_link.accepted.cost == pytest.approx(together.accepted.cost, rel=1e-3)  # the link costs 0.01 %


def test_outputs_on_the_way_back() -> None:
    problem = replace(gpu_fpga_problem(FIGURE_3_LAYER), counts_outputs=True)
    there, back = (6.71808e-4 * 112**2 * channels * 8 / 1024 + 0.00756679 for channels in (14, 14 * 32 / 16))
    assert problem.cost([(14, 2)]) - replace(problem, counts_outputs=False).cost([(14, 2)]) == pytest.approx(back)
    assert float(problem.costs(0, 0).inputs.of({CHANNELS: 14})) == pytest.approx(there)


def test_sizes_of_the_networks() -> None:
    assert [len(sizes) for sizes in NETWORKS.values()] == [5, 13, 17]
    assert NETWORKS["AlexNet"][1] == ConvolutionSize(side=54, channels=96, kernel=5, filters=256)
    for sizes in NETWORKS.values():
        assert all(b.channels == a.filters for a, b in pairwise(sizes))


def test_without_cvxpy_the_other_tables_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    for figure in (division_tables.figure_3, division_tables.figure_5, division_tables.figure_9):
        figure.cache_clear()
    reproduction = reproduce()
    reproduction.check()
    assert {row.source for row in reproduction.rows} == {"Santamaria 2021", "Mukherjee 2022", "Dariol 2023"}
    text = StringIO()
    print_reproduction(reproduction, Console(file=text, width=80))
    left_out = f"left out: Carballo-Hernández 2023: geometric programs need cvxpy: {install_line('geometric')}"
    assert text.getvalue().splitlines()[-1] == left_out
    assert reproduction.to_json()["left_out"] == reproduction.left_out
