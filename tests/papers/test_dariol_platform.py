"""The platform of Dariol 2023: its table of message delays, its dense layer and its memory model as oracles."""

import json

import pytest
from typer.testing import CliRunner

from tinysplit.cli.app import app
from tinysplit.kernels.messages import MessageCycles
from tinysplit.papers.reproduce.dariol_platform import (
    DENSE,
    DENSE_ESTIMATED,
    INTERRUPT,
    POLLING,
    conv_weights_bytes,
    dense_cycles,
    dense_weights_bytes,
    tile_bytes,
)
from tinysplit.papers.reproduce.tables import Platform, reproduce


@pytest.mark.parametrize("n_tokens", [1, 2, 10, 784])
@pytest.mark.parametrize(
    ("message", "setup", "token"),
    [
        (POLLING.reading, 40, 22),
        (POLLING.writing, 40, 18),
        (INTERRUPT.reading, 365, 22),
        (INTERRUPT.writing, 365, 18),
    ],
)
def test_message_delays(message: MessageCycles, setup: int, token: int, n_tokens: int) -> None:
    assert message.of(n_tokens) == setup + token * n_tokens


def test_a_further_look_costs_nothing_where_the_clock_is_gated() -> None:
    assert (POLLING.waiting, INTERRUPT.waiting) == (15, 0)


def test_calibration_matters_for_a_dense_layer() -> None:
    assert dense_cycles(DENSE, 10, 128) == 61_659
    assert dense_cycles(DENSE_ESTIMATED, 10, 128) == 39_016


def test_private_memory_of_a_tile() -> None:
    weights_bytes = [dense_weights_bytes(10, 128), dense_weights_bytes(4, 10)]
    found = tile_bytes(weights_bytes, 128, [128, 10], n_channels=3)
    assert found[".text"] == 8192 + 2 * 512
    assert found[".data"] == 128 + 4 * 10 * 129 + 4 * 4 * 11
    assert found[".stack"] == 4 * (2 * 3 + 138)
    assert (found[".vectors"], found[".bss"], found[".heap"]) == (128, 256, 2048)


def test_weights_of_a_convolution_are_printed_for_one_input_channel() -> None:
    as_printed, right = (conv_weights_bytes(16, 3, 3, 1, is_as_printed=printed) for printed in (True, False))
    assert as_printed == right == 4 * 16 * 10
    assert conv_weights_bytes(16, 3, 3, 8) < conv_weights_bytes(16, 3, 3, 8, is_as_printed=False) == 4 * 16 * 73


def test_reproduce_prints_the_platform_alone_and_among_all() -> None:
    found = reproduce(Platform.DARIOL_2023)
    found.check()
    assert {row.source for row in found.rows} == {"Dariol 2023"}
    assert all(row.is_equal for row in found.rows if row.published)
    result = CliRunner().invoke(app, ["reproduce", "--platform", "dariol2023", "--json"])
    assert result.exit_code == 0
    rows = json.loads(result.stdout)["rows"]
    assert [row["ours"] for row in rows if row["quantity"] == "read of n tokens"] == ["40 + 22 n", "365 + 22 n"]
