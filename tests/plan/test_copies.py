"""Plans of copies of the whole network: one board each, the same for boards of one kind."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from rich.console import Console

from example_folders.example import MODEL
from tinysplit.boards.catalog import load_all
from tinysplit.codegen.projects import generate
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.plan.copies import plan_copies
from tinysplit.plan.plan import Plan
from tinysplit.project.manifest import Project
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.timing.figures import period_of_copies_s

BOARDS = ("nucleo_f401re", "nucleo_g071rb", "nucleo_h743zi", "nucleo_g071rb")
COPIES = (0, 1, 3)  # board 3 has none
SETTINGS = CostSettings(baud=921_600)


@pytest.fixture(scope="module")
def quantized() -> QuantizedGraph:
    x = np.random.default_rng(0).random((4, 1, 28, 28)).astype(np.float32)
    return quantize_model(import_model(MODEL), MODEL, Samples(x), SETTINGS.bits, Console(quiet=True)).quantized


def plans_of(graph: QuantizedGraph, devices: tuple[int, ...]) -> tuple[Plan, ...]:
    network, boards = graph.dequantized, load_all(BOARDS)
    assignments = [(device,) * len(network.layers) for device in devices]
    problem = make_problem(shipped_table(), network, boards, SETTINGS)
    return plan_copies(
        shipped_table(), network, SETTINGS.bits, boards, problem, assignments, SETTINGS.link_settings_on(boards)
    )


@pytest.fixture(scope="module")
def generated(quantized: QuantizedGraph, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Path]:
    folder = tmp_path_factory.mktemp("copies") / "out"
    plans = plans_of(quantized, COPIES)
    bauds = (921_600, SETTINGS.host_baud_on(load_all(BOARDS)))
    return generate(quantized, plans, bauds, 4, onnx.load(MODEL), folder), folder


def test_each_board_has_all_layers_and_no_link(quantized: QuantizedGraph) -> None:
    plans = plans_of(quantized, COPIES)
    assert [(plan.assignment[0], plan.links, plan.cuts) for plan in plans] == [(k, (), ()) for k in COPIES]
    for plan, device in zip(plans, COPIES, strict=True):
        (board,) = plan.boards
        assert (board.index, board.board.name) == (device, BOARDS[device])
        assert board.layers == tuple(range(7))
        assert board.stages.input is not None
    assert plans[1].boards[0].memory is plans[2].boards[0].memory
    assert plans[0].boards[0].memory.kernels != plans[1].boards[0].memory.kernels


def test_the_manifest_has_the_layers_of_each_copy(generated: tuple[Project, Path]) -> None:
    project, _ = generated
    assert project.copies == ((1,), (2,), (4,))
    assert [(layer.board, layer.number) for layer in project.layers] == [(b, n) for b in (1, 2, 4) for n in range(1, 8)]
    assert len(project.formats) == 7
    first, second, third = project.pipelines
    assert (third.boards, third.input_boards, third.output_board) == ((4,), (4,), 4)
    assert [layer.memory for layer in second.layers] == [layer.memory for layer in third.layers]
    assert [layer.memory.kernel for layer in first.layers] != [layer.memory.kernel for layer in second.layers]
    assert project.slowest == second
    assert project.estimated_l_s == second.estimated_l_s > first.estimated_l_s
    assert project.estimated_t_s == 0


def test_the_rates_of_the_copies_add_up(generated: tuple[Project, Path]) -> None:
    """A copy's period is its L and the bytes from the host."""
    project, _ = generated
    least_s = period_of_copies_s([pipeline.estimated_l_s for pipeline in project.pipelines])
    assert least_s < project.estimated_period_s < 1.2 * least_s
    assert project.one_board_period_s is not None
    assert 0.9 < project.one_board_period_s / project.estimated_period_s < 1.1  # of board 3, which has none


def test_boards_of_one_kind_differ_in_their_number_alone(generated: tuple[Project, Path]) -> None:
    project, folder = generated
    second, third = (folder / project.board(number).directory for number in (2, 4))
    files = sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(third) for path in third.rglob("*") if path.is_file())
    different = [path for path in files if (second / path).read_bytes() != (third / path).read_bytes()]
    changed = {}
    for path in different:
        lines = [(board / path).read_text().splitlines() for board in (second, third)]
        changed[path.name] = [pair[1] for pair in zip(*lines, strict=True) if len(set(pair)) > 1]
    assert sorted(changed) == ["application.c", "network.c", "project_hash.c", "tinysplit.h"]
    assert all("oard 4" in changed[name][0] for name in ("application.c", "network.c", "tinysplit.h"))
    assert [len(changed[name]) for name in ("application.c", "network.c", "tinysplit.h")] == [1, 2, 1]
    assert "board_index" in changed["network.c"][1]
