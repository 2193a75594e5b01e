"""Two links on a line with faults, on the host with sanitizers: no tensor is ever wrong, and no link hangs.

tests/c/link_line.c checks each tensor, the time, and that a run without faults succeeds after each fault.
"""

import subprocess
from pathlib import Path
from statistics import mean

import pytest

from programs.firmware_on_host import LINK_SOURCES, compile_host
from session.profiles import cases
from splits.simulated_link import transfer_times
from tinysplit.timing.loss import Loss

SEEDS = cases(quick=3, full=20, nightly=300)
NO_ANSWER, PEER_STOPPED, RESTARTED, OTHER_RUN, OTHER_PLAN, OTHER_VERSION, WRONG_BOARD, CORRUPT = range(1, 9)
PER_BILLION = 1_000_000_000


@pytest.fixture(scope="module")
def link_line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("link"), "link_line", *LINK_SOURCES)


def run(program: Path, **options: int) -> dict[str, float]:
    """Return the totals of the simulations."""
    command = [str(program), *(f"{name}={value}" for name, value in options.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    fields = done.stdout.split()
    return dict(zip(fields[::2], map(float, fields[1::2]), strict=True))


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1024, 1025, 2048, 2049, 4096, 65536])
def test_a_tensor_takes_the_bytes_that_the_protocol_says(link_line: Path, size: int) -> None:
    hello, tensors, frames = 31, 3, -(-size // 2048)
    totals = run(link_line, bytes=size, tensors=tensors, again=0)
    assert totals["repeats"] == 0
    per_tensor = size + 15 * frames + (4 if frames > 1 else 0)
    assert 0 <= totals["wire_a"] - tensors * per_tensor <= 4 * hello + 11
    if size >= 1024:
        assert size / (per_tensor + 11) > 0.97


@pytest.mark.parametrize(("per_million", "error"), [(100, 0.03), (1000, 0.1)])
def test_the_simulation_repeats_as_the_links_do(link_line: Path, per_million: int, error: float) -> None:
    baud, size, seeds, tensors = 115_200, 2700, 30, 5
    options = {"baud": baud, "bytes": size, "tensors": tensors, "seeds": seeds, "again": 0, "span": 1}
    clean, lossy = (run(link_line, **options, lose=rate)["mean_ms"] for rate in (0, per_million * 1000))
    times_s = [
        [sum(transfer_times(baud, size, Loss(rate, seed), tensors)) / tensors for seed in range(seeds)]
        for rate in (0.0, per_million / 1e6)
    ]
    simulated = mean(times_s[1]) / mean(times_s[0])
    assert simulated > 1.05
    assert simulated == pytest.approx(lossy / clean, rel=error)


def test_numbers_wrap(link_line: Path) -> None:
    assert run(link_line, bytes=56, back_bytes=70, channels=2, tensors=700, again=0)["repeats"] == 0


@pytest.mark.parametrize(("baud", "size"), [(9600, 56), (115200, 56), (4_000_000, 56), (115200, 700)])
def test_a_lost_byte_costs_little(link_line: Path, baud: int, size: int) -> None:
    options = {"baud": baud, "bytes": size, "tensors": 5, "again": 0, "span": 1}
    clean = run(link_line, **options)["last_ms"]
    frame_ms = (size + 15) * 10_000 / baud
    for side, count in ((0, size + 15), (1, 22)):  # the tensor; grant and ACK
        for at in range(1, count, max(1, count // 20)):
            late = run(link_line, **options, lose_side=side, lose_at=at)["last_ms"]
            assert late - clean <= 2 * frame_ms + 10, f"byte {at}: {late} ms instead of {clean}"


@pytest.mark.parametrize(("size", "seeds"), [(2700, 100), (65536, 10)])
def test_damaged_frames_are_repeated_in_part(link_line: Path, size: int, seeds: int) -> None:
    options = {"bytes": size, "tensors": 1, "again": 0, "seeds": seeds}
    clean, late = (run(link_line, **options, flip=flip)["mean_ms"] for flip in (0, 10_000))  # a bit in 100 000
    assert clean > 0.9 * late  # whole frames: 0.83; with more seeds: `benchmarks link`


def test_a_repeated_frame_leaves_the_next_tensor_its_timer(link_line: Path) -> None:
    """Its last byte leaves when the acknowledgement is there and the next tensor waits for a grant that was lost."""
    totals = run(link_line, seeds=10, bytes=256, tensors=1000, again=0, flip=800_000, limit_ms=200_000)
    assert totals["tensors"] == 10_000


@pytest.mark.parametrize("fault", ["flip", "lose", "double", "insert"])
@pytest.mark.parametrize("per_million", [1, 10, 100, 1000])
def test_tensors_arrive_despite_line_errors(link_line: Path, fault: str, per_million: int) -> None:
    options = {fault: per_million * PER_BILLION // 1_000_000}
    totals = run(link_line, seeds=SEEDS, bytes=2700, back_bytes=500, **options)
    assert totals["completed"] == SEEDS


@pytest.mark.parametrize("sides", [1, 2, 3])
@pytest.mark.parametrize("cut_ms", [1, 10, 100, 1000, 10_000])
def test_a_cut_wire_is_named_and_survived(link_line: Path, cut_ms: int, sides: int) -> None:
    totals = run(link_line, seeds=SEEDS, bytes=3000, back_bytes=800, cut_ms=cut_ms, cut_sides=sides, burst=1)
    assert totals["completed"] == SEEDS
    assert totals["failure_ms"] < 3000  # a receiver that waits probes once a second


def test_an_arrived_tensor_counts_after_a_cut(link_line: Path) -> None:
    totals = run(link_line, seeds=SEEDS, ack_cut=1, cut_ms=5000)
    assert totals["completed"] == SEEDS
    assert totals["repeats"] == 0


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("size", "back"), [(5000, 0), (500, 3000)])
def test_a_reset_is_named_and_the_next_run_is_right(link_line: Path, side: int, size: int, back: int) -> None:
    totals = run(link_line, seeds=5 * SEEDS, bytes=size, back_bytes=back, channels=2, reset=side, late_ms=20)
    assert totals[f"failure_{RESTARTED}"] > 0
    assert totals["failure_ms"] < 1000


def test_frames_of_an_earlier_run_are_noise(link_line: Path) -> None:
    totals = run(link_line, seeds=5 * SEEDS, bytes=5000, back_bytes=3000, new_run=1, late_ms=30, flip=10_000)
    assert totals["completed"] == 5 * SEEDS


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"absent": 1}, NO_ANSWER),
        ({"absent": 1, "flood": 1}, NO_ANSWER),
        ({"other_plan": 1}, OTHER_PLAN),
        ({"wrong_board": 1}, WRONG_BOARD),
    ],
)
def test_a_peer_that_cannot_take_part_is_named(link_line: Path, options: dict[str, int], reason: int) -> None:
    totals = run(link_line, seeds=SEEDS, bytes=800, **options)
    assert totals[f"failure_{reason}"] >= SEEDS
    assert totals["failure_ms"] < 1000


def test_a_peer_within_a_long_frame_is_well(link_line: Path) -> None:
    """A frame takes 2.1 s, and a receiver that waits probes once a second."""
    totals = run(link_line, baud=9600, bytes=8192, tensors=2, again=0, seeds=SEEDS, late_ms=900, limit_ms=100_000)
    assert totals["completed"] == SEEDS
    assert totals["worst_ms"] < 19_000
    assert f"failure_{NO_ANSWER}" not in totals


@pytest.mark.parametrize("options", [{"late_ms": 2000}, {"streamed": 1, "flip": 10_000}, {"flood": 1}])
def test_late_streamed_and_flooded_tensors_arrive(link_line: Path, options: dict[str, int]) -> None:
    totals = run(link_line, seeds=SEEDS, bytes=9000, back_bytes=100, channels=2, **options)
    assert totals["completed"] == SEEDS
