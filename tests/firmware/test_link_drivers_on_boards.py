"""A generated project of two virtual boards that poll their links."""

import re
from pathlib import Path

from rigs.faulty_boards import build_small_network, faulty_boards
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.costs.settings import CostSettings
from tinysplit_hil.measure.stream import stream

SAMPLES = 5


def test_boards_that_poll_receive_into_their_arenas_and_compute_right(tmp_path: Path) -> None:
    """A buffer beside the arena would be granted while layers run: all that came then would be lost."""
    names = ("nucleo_g071rb", "nucleo_g071rb")
    settings = CostSettings(baud=230_400, use_all=True, link_driver=LinkDriver.POLLING)
    folder = tmp_path / "out" / "project"
    project = build_small_network(tmp_path / "out", *names, settings=settings)
    sources = [(folder / own.directory / "src" / "network.c").read_text() for own in project.boards]
    assert all(re.search(r"\.offset = (\d+), \.stage = \1, \.bytes = 2304", source) for source in sources)
    with faulty_boards(project, folder) as boards:
        outcome = boards.infer(0)
        assert (outcome.error, outcome.is_right) == (None, True)
        streamed = stream(project, boards.rig, boards.inputs[:SAMPLES], fail_fast=True)
        assert (streamed.outputs == boards.expected[:SAMPLES]).all()
