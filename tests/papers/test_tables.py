"""The published tables: every digit that can come out of a computation does, and the rest says why not."""

import json
from dataclasses import replace
from io import StringIO
from itertools import product

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tinysplit.boards.catalog import load_board
from tinysplit.cli.app import app
from tinysplit.common.errors import CheckFailedError
from tinysplit.papers.published_costs import published_of
from tinysplit.papers.reproduce.costs import NETWORKS, counted_layers, published_problem
from tinysplit.papers.reproduce.figures import EXPERIMENT, KNOWN_DIFFERENCES, TABLE_2, TABLE_4
from tinysplit.papers.reproduce.networks import tiny_cnn
from tinysplit.papers.reproduce.reproduction import Convention, Reproduction
from tinysplit.papers.reproduce.reproduction_tables import print_reproduction
from tinysplit.papers.reproduce.santamaria_checks import formula_7_s
from tinysplit.papers.reproduce.tables import reproduce
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.period import period_s
from tinysplit.split.problem import Assignment, LayerCosts, Period, Problem, last_two

FIVE = ("MobileNet v1 025", "MobileNet v1 030", "MobileNet v1 035", "YAMNet 256", "KWS CNN")
STEPS = "branch and bound, steps"


@pytest.fixture(scope="module")
def reproduction() -> Reproduction:
    return reproduce()


@pytest.mark.parametrize("model", FIVE)
def test_all_printed_digits_of_the_five_networks(reproduction: Reproduction, model: str) -> None:
    rows = [row for row in reproduction.rows if row.row.startswith(model) and row.published]
    assert {row.table for row in rows} == {"2", "4"}
    different = {row.quantity for row in rows if not row.is_equal}
    counted = {"latency, s", "latency, sub-models", "throughput, 1/s", "throughput, sub-models", "flash, KB", "depth"}
    assert counted <= {row.quantity for row in rows} - different
    assert different <= {STEPS, "RAM, KB", "dichotomic, steps"}


def test_arrows(reproduction: Reproduction) -> None:
    arrows = {row.row: row.ours for row in reproduction.rows if row.quantity == "throughput, % lost"}
    assert arrows == {"MobileNet v1 030, h743zi f401re": "13.5", "KWS CNN, l433rc_p l412kb": "1"}


def test_steps(reproduction: Reproduction) -> None:
    def steps(quantity: str) -> list[tuple[str, str]]:
        return [(row.published, row.ours) for row in reproduction.rows if row.quantity == quantity and row.ours]

    assert steps(STEPS)[:5] == [("66", "66"), ("62", "69"), ("66", "63"), ("73", "60"), ("17", "18")]
    assert [ours for published, ours in steps("dichotomic, steps") if published == ours] == [
        *("236", "236", "236", "100*", "52", "52", "132")
    ]
    assert sum(published == ours for published, ours in steps("full search, steps")) == 8


def test_what_cannot_be_identified_has_no_number(reproduction: Reproduction) -> None:
    missing = [row for row in reproduction.rows if not row.ours]
    of_santamaria = [row for row in missing if row.source == "Santamaria 2021"]
    assert {row.row.partition(",")[0] for row in of_santamaria if row.table in {"2", "4"}} == {"VoxCeleb"}
    assert {row.quantity for row in of_santamaria if row.table in {"3", "5"}} == {"CpM", "L, s"}
    assert all(row.why_not.startswith("not identifiable") and not row.conventions for row in missing)


def test_only_known_differences(reproduction: Reproduction) -> None:
    reproduction.check()
    rows = [row for row in reproduction.rows if row.source == "Santamaria 2021" and row.published]
    networks = [row for row in rows if row.table in {"2", "4"} or row.row == "Tiny-CNN, model"]
    different = {(row.row.partition(",")[0], row.quantity) for row in networks if row.ours and not row.is_equal}
    assert different == set(KNOWN_DIFFERENCES)
    assert len(networks) == 100
    assert sum(row.is_equal for row in networks) == 72
    others = [(row.row, row.quantity) for row in rows if row not in networks and row.ours and not row.is_equal]
    assert others == [
        *((board, "RAM, KB") for board in ("nucleo_h743zi", "nucleo_l452re", "nucleo_h723zg")),
        ("Tiny-CNN, experimental", "T, s"),
    ]


def test_the_experiment_of_table_5(reproduction: Reproduction) -> None:
    rows = {row.quantity: row.ours for row in reproduction.rows if row.row == "Tiny-CNN, experimental"}
    assert rows == {"L, s": "", "T, s": "0.28", "I = L + T, s": "3.81", "L below the model, %": "8"}
    (measured,) = (row for row in reproduction.rows if row.why_not == EXPERIMENT)
    assert "float32" in measured.why_not
    assert "fixed point, 8 or 16 bits" in measured.why_not
    model = [row for row in reproduction.rows if row.row == "Tiny-CNN, model"]
    assert all(Convention.FLOAT_TIMES in row.conventions for row in model)
    assert len(model) == 3


def test_contradictions_are_no_figures(reproduction: Reproduction) -> None:
    rows = [row for row in reproduction.rows if row.table == "Contradictions"]
    assert all(row.why_not and not row.published for row in rows)
    assert [(row.row.partition(",")[0], row.ours) for row in rows] == [
        ("MobileNet v1 025", "0.180"),
        ("YAMNet 256", "2.012"),
        ("MobileNet v1 025", "0.286"),
        ("KWS CNN", "3.992"),
        ("YAMNet 256", "0.146"),
        ("KWS DS-CNN", "0.429"),
        ("ResNet34", "4.98"),
    ]


def test_formula_7_by_hand() -> None:
    problem = published_problem("Tiny-CNN", ("nucleo_g071rb", "nucleo_g071rb"))
    first, second, third, last = (layer.seconds[0] for layer in problem.layers)
    sent = [layer.out_bytes * 8 / 115200 for layer in problem.layers]
    assert formula_7_s(problem, (0, 0, 0, 1)) == pytest.approx(first + second + third + sent[2])
    assert formula_7_s(problem, (0, 1, 0, 0)) == pytest.approx(second + sent[1])
    assert formula_7_s(problem, (1, 0, 1, 0)) == pytest.approx(second + last + sent[1] + third)


def test_fitted_rules_are_told_from_others(reproduction: Reproduction) -> None:
    equal = [row for row in reproduction.rows if row.published and row.is_equal]
    fitted = {(row.table, row.quantity) for row in equal if row.is_fitted}
    assert {("2", "RAM, KB"), ("4", "latency, s"), ("4", "dichotomic, steps"), ("5", "L, s")} <= fitted
    others = {(row.table, row.quantity) for row in equal if not row.is_fitted}
    assert {("2", "MACC, 10^6"), ("3", "MHz"), ("4", "full search, steps"), ("5", "I = L + T, s")} <= others


def test_a_wrong_figure_is_named(reproduction: Reproduction) -> None:
    wrong = replace(reproduction.rows[1], ours="1")
    with pytest.raises(CheckFailedError, match=r"1 figures differ .*: Table 2 .* 025 flash, KB"):
        replace(reproduction, rows=(wrong, *reproduction.rows[2:])).check()


def test_replication_beside_the_pipelines(reproduction: Reproduction) -> None:
    rows = [row for row in reproduction.rows if row.source == "Mukherjee 2022"]
    assert {row.table for row in rows} == {"2", "Figure 4", "Figure 5", "Contradictions"}
    figures = [(row.ours, row.replicated) for row in rows if row.quantity == "inferences/s"]
    assert figures == [("4.98", "4.80"), ("4.83", "5.22"), ("4.90", "5.21")]
    published = [row.published for row in rows if row.quantity == "pipeline, ms"]
    assert published == ["195 + 201", "206 + 207", "204 + 204"]


def test_table_fits_100_columns(reproduction: Reproduction) -> None:
    text = StringIO()
    print_reproduction(reproduction, Console(file=text, width=100))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= 100
    assert (
        "195 figures: 124 equal in every printed digit, 45 not identifiable, 26 known to differ, 0 unexpected" in lines
    )
    assert "Of the equal figures, 62 assume a fitted rule, and are no evidence for it; 62 do not." in lines
    assert not any(line.startswith("rb") for line in lines)


def test_command() -> None:
    result = CliRunner().invoke(app, ["reproduce", "--json"])
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    row = next(row for row in data["rows"] if row["quantity"] == "throughput, 1/s")
    assert (row["table"], row["published"], row["ours"], row["equal"]) == ("4", "4.034", "4.034", True)
    assert {"row", "quantity", "conventions", "difference", "source"} <= set(row)
    assert len(row["conventions"]) == 3
    assert row["fitted"]
    copies = [row for row in data["rows"] if row["replicated"] and row["table"] == "2"]
    assert [(row["source"], row["row"], row["equal"]) for row in copies] == [
        ("Mukherjee 2022", name, False) for name in ("ResNet34", "ResNet18", "ResNext")
    ]


def test_boards_of_table_4_have_the_properties_of_table_3() -> None:
    published = {  # flash KB, RAM KB, MHz, cycles a MACC
        "nucleo_h743zi": (2048, 1024, 480, 6),
        "nucleo_h723zg": (1024, 564, 550, 6),
        "nucleo_f446re": (512, 128, 180, 9),
        "nucleo_f401re": (512, 96, 84, 9),
        "stm32f401rb": (128, 64, 84, 9),
        "nucleo_l4r5zi": (2048, 640, 120, 9),
        "nucleo_l452re": (512, 128, 80, 9),
        "nucleo_l433rc_p": (256, 64, 80, 9),
        "nucleo_l412kb": (128, 40, 80, 9),
        "nucleo_g071rb": (128, 36, 64, 307),
    }
    assert {name for row in TABLE_4 for name in row.boards} <= set(published)
    for name, properties in published.items():
        found = published_of(load_board(name))
        assert (found.flash_bytes // 1024, found.ram_bytes // 1024, found.hz / 1e6, found.cpm) == properties


def test_pools_belong_to_their_convolution() -> None:
    counted = counted_layers(tiny_cnn())
    assert [len(layers) for layers in counted] == [2, 2, 2, 1]
    problem = published_problem("Tiny-CNN", ("nucleo_g071rb", "nucleo_g071rb"))
    assert [layer.out_bytes for layer in problem.layers] == [13 * 13 * 16 * 4, 5 * 5 * 32 * 4, 48 * 4, 10 * 4]
    assert problem.layers[0].seconds[0] == pytest.approx((26 * 26 * 16 * 10 + 13 * 13 * 16 * 4) * 307 / 64e6)
    assert set(NETWORKS) | {"VoxCeleb"} == {row.model for row in TABLE_2}


def tiny_grouped(*groups: tuple[int, ...]) -> Problem:
    """Tiny-CNN with other groups of its seven layers counted as one."""
    graph, problem = tiny_cnn(), published_problem("Tiny-CNN", ("nucleo_g071rb", "nucleo_g071rb"))
    layers, transfers = [], []
    for group in groups:
        own = [graph.layers[number] for number in group]
        out_bytes = 4 * own[-1].out_shape.size
        seconds = sum(layer.macc for layer in own) * 307 / 64e6
        ram_bytes = max(4 * own[0].in_shape.size, out_bytes)
        layers.append(
            LayerCosts.alike("", sum(y.weights_bytes(32) for y in own), ram_bytes, out_bytes, (seconds, seconds))
        )
        transfers.append(((0.0, out_bytes * 8 / 115200), (out_bytes * 8 / 115200, 0.0)))
    joined = last_two(len(layers))
    return replace(problem, layers=tuple(layers), transfer_seconds=tuple(transfers), joined=joined)


def best(problem: Problem, period: Period | None = None) -> tuple[float, Assignment]:
    feasible = [a for a in product(range(2), repeat=len(problem.layers)) if evaluate(problem, a).is_feasible]
    return min((period_s(problem, a, period) if period else evaluate(problem, a).i_s, a) for a in feasible)


def test_which_five_layers_tiny_cnn_has() -> None:
    # Table 5 cuts 3 + 2 layers. With the second pool as a layer of its own that is the best cut and has its T; the
    # first pool cannot be one, its input is larger than the RAM, and with the third one another cut would be better.
    second = tiny_grouped((0, 1), (2,), (3,), (4, 5), (6,))
    latency_s, assignment = best(second)
    assert (f"{latency_s:.2f}", assignment) == ("4.10", (0, 0, 0, 1, 1))
    waiting_s, assignment = best(second, Period.PAPER)
    assert (f"{1 / waiting_s:.3f}", assignment) == ("0.341", (0, 1, 1, 0, 0))
    assert best(tiny_grouped((0, 1), (2, 3), (4,), (5,), (6,)))[0] == pytest.approx(4.0014, abs=1e-4)
    with pytest.raises(ValueError, match="empty"):
        best(tiny_grouped((0,), (1,), (2, 3), (4, 5), (6,)))


def test_tiny_cnn_tells_the_published_period_from_the_largest_span() -> None:
    problem = published_problem("Tiny-CNN", ("nucleo_g071rb", "nucleo_g071rb"))
    assert f"{1 / best(problem, Period.PAPER)[0]:.3f}" == "0.341"
    assert f"{1 / best(problem, Period.SPAN)[0]:.3f}" == "0.302"
