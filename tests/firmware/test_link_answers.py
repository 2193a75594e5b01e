"""Answers of one end of a link, frame by frame, as docs/protocol.md says: tags, repeated and older frames."""

import subprocess
from pathlib import Path

import pytest

from firmware_on_host import compile_host

DATA, ACK, NAK = "40", "41", "42"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("answers"), "link_answers", "frames.c", "link.c")


def says(program: Path, *lines: str) -> list[str]:
    """Return what the link sends and says; a frame is its type, tag, sequence and length."""
    stream = "".join(f"{line}\n" for line in lines)
    done = subprocess.run([program], input=stream, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


SENT = ["40 5 0 1024", "40 5 1 1024"]


def test_an_ack_with_another_tag_is_ignored(program: Path) -> None:
    assert says(program, "send 5 2048", f"frame {ACK} 6 1 0 1", "state") == [*SENT, "sending done"]
    assert says(program, "send 5 2048", f"frame {ACK} 5 1 0 1", "state") == [*SENT, "idle done"]


def test_a_nak_with_another_tag_is_ignored(program: Path) -> None:
    assert says(program, "send 5 2048", f"frame {NAK} 6 0 0 1") == SENT
    assert says(program, "send 5 2048", f"frame {NAK} 5 0 0 1") == [*SENT, *SENT]
    assert says(program, "send 5 2048", f"frame {NAK} 5 1 0 1") == [*SENT, SENT[1]]


@pytest.mark.parametrize("kind", [ACK, NAK])
@pytest.mark.parametrize("sequence", [0, 250, 130])
def test_an_answer_to_an_older_frame_is_ignored(program: Path, kind: str, sequence: int) -> None:
    first = ("send 5 2048", f"frame {ACK} 5 1 0 1")
    second = ("send 5 2048", f"frame {kind} 5 {sequence} 0 1", "state", f"frame {ACK} 5 3 0 1", "state")
    assert says(program, *first, *second) == [*SENT, "40 5 2 1024", "40 5 3 1024", "sending done", "idle done"]


def test_an_ack_of_a_frame_that_was_not_sent_is_ignored(program: Path) -> None:
    window = [f"40 5 {sequence} 1024" for sequence in range(8)]
    after = [f"40 5 {sequence} 1024" for sequence in range(8, 16)]
    assert says(program, "send 5 20480", f"frame {ACK} 5 8 0 1") == window
    assert says(program, "send 5 20480", f"frame {ACK} 5 7 0 1") == [*window, *after]


def test_ack_and_nak_carry_the_tag_of_the_tensor(program: Path) -> None:
    lines = (
        "receive 7 2048",
        f"frame {DATA} 7 0 1024 1",
        f"frame {DATA} 7 1 1024 0",  # damaged: refused once
        f"frame {DATA} 7 1 1024 0",
        f"frame {DATA} 7 1 1024 1",
        "state",
    )
    assert says(program, *lines) == ["41 7 0 0", "42 7 1 0", "41 7 1 0", "idle done"]


def test_a_frame_with_another_tag_is_answered_with_the_awaited_tag(program: Path) -> None:
    lines = ("receive 7 1024", f"frame {DATA} 3 0 1024 1", "state", f"frame {DATA} 7 0 1024 1", "state")
    assert sorted(says(program, *lines)[:2]) == ["42 7 0 0", "unexpected 3"]
    assert says(program, *lines)[2:] == ["idle receiving", "41 7 0 0", "idle done"]


def test_the_eight_frames_before_the_expected_one_are_acknowledged_again(program: Path) -> None:
    taken = ("receive 7 2048", f"frame {DATA} 7 0 1024 1", f"frame {DATA} 7 1 1024 1")
    for sequence in (1, 0, 255, 250):
        assert says(program, *taken, f"frame {DATA} 7 {sequence} 1024 1")[2:] == ["41 7 1 0"]
    for sequence in (249, 130):
        assert says(program, *taken, f"frame {DATA} 7 {sequence} 1024 1")[2:] == []
