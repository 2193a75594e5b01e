"""Why a run failed: what all boards have reported, in one line with link, boards and remedy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tinysplit.project.manifest import Project, ProjectBoard, ProjectCut
from tinysplit.settings.boards_and_links import BAUD
from tinysplit_hil.wire.protocol import BoardError, ErrorCode, Identity

REMEDIES = {
    "power": "check its supply",
    "brown-out": "check its supply",
    "reset pin": "check its reset pin and debug probe",
    "watchdog": "its program did not answer; build and flash it again",
}
ON_LINKS = (
    ErrorCode.LINK_OTHER_VERSION,
    ErrorCode.LINK_OTHER_PLAN,
    ErrorCode.LINK_WRONG_BOARD,
    ErrorCode.LINK_PEER_RESTARTED,
    ErrorCode.LINK_CORRUPT,
    ErrorCode.LINK_NO_ANSWER,
    ErrorCode.LINK_OTHER_RUN,
    ErrorCode.LINK_PEER_STOPPED,
)


@dataclass(frozen=True)
class Evidence:
    """What is known of a failed run, by board number. A board that does not reply has no identity in `after`."""

    run: int
    before: Mapping[int, Identity]
    after: Mapping[int, Identity]
    errors: Mapping[int, BoardError]  # that ended the run on the board


def diagnose(project: Project, evidence: Evidence, symptom: str) -> str:
    """Return the most specific cause of a failed run, or `symptom` if the boards report no error.

    Errors of UARTs may have had other consequences, or none: they are named beside the symptom.
    """
    for causes in (_restarts, _errors_of_boards, _errors_of_links, _silences):
        for cause in causes(project, evidence):
            return cause
    return "; ".join((symptom, *_line_errors(project, evidence)))


def _restarts(project: Project, evidence: Evidence) -> Iterator[str]:
    for board in project.boards:
        before = evidence.before[board.number]
        after = evidence.after.get(board.number)
        if after is None or (after.boot_count == before.boot_count and after.run == evidence.run):
            continue
        remedy = REMEDIES.get(after.cause)
        cut = _reported_cut(project, board, evidence.errors)
        where = f"cut {cut.number}: " if cut else ""
        hint = f": {remedy}" if remedy else ""
        yield f"{where}{board.title} restarted in mid-run (cause: {after.cause}){hint}"


def _reported_cut(project: Project, board: ProjectBoard, errors: Mapping[int, BoardError]) -> ProjectCut | None:
    """Return the cut between `board` and a board that reports an error of the link."""
    for number, error in errors.items():
        cut = _cut(project, error) if error.code in ON_LINKS else None
        if cut and number != board.number and board.number in (cut.from_board, cut.to_board):
            return cut
    return None


def _errors_of_boards(project: Project, evidence: Evidence) -> Iterator[str]:
    for board in project.boards:
        error = evidence.errors.get(board.number)
        if error and error.code not in ON_LINKS:
            yield f"{board.title} reports {error}"


def _errors_of_links(project: Project, evidence: Evidence) -> Iterator[str]:
    for code in ON_LINKS:
        for number, error in evidence.errors.items():
            if error.code == code:
                yield _link_error(project, number, error)


def _link_error(project: Project, number: int, error: BoardError) -> str:
    own = project.board(number)
    cut = _cut(project, error)
    if cut is None or number not in (cut.from_board, cut.to_board):
        return f"{own.title} reports {error}"
    peer = project.board(cut.to_board if number == cut.from_board else cut.from_board)
    where = f"cut {cut.number}: "
    both = f"{own.title} and {peer.title}"
    again = "build and flash it again"
    texts = {
        ErrorCode.LINK_OTHER_VERSION: f"{peer.title} speaks another version of the protocol: {again}",
        ErrorCode.LINK_OTHER_PLAN: f"{peer.title} has another plan or other weights: {again}",
        ErrorCode.LINK_WRONG_BOARD: f"{own.title} is not connected to {peer.title}{_pins(project, own, peer)}: "
        "check the wiring and that each board has its own firmware",
        ErrorCode.LINK_PEER_RESTARTED: f"{peer.title} restarted in mid-run: check its supply",
        ErrorCode.LINK_CORRUPT: f"the tensor from {project.board(cut.from_board).title} to "
        f"{project.board(cut.to_board).title} arrives damaged again and again: check ground and wiring, or split again "
        f"with a lower {BAUD}",
        ErrorCode.LINK_NO_ANSWER: f"no answer on the link between {both}{_pins(project, own, peer)}: "
        "check TX/RX wiring in both directions, and that both have power",
        ErrorCode.LINK_OTHER_RUN: f"{peer.title} is in a newer run: run again, with one program at a time",
        ErrorCode.LINK_PEER_STOPPED: f"{peer.title} is in no run: flash it again if that repeats",
    }
    return where + texts[ErrorCode(error.code)]


def _pins(project: Project, own: ProjectBoard, peer: ProjectBoard) -> str:
    """Return the UARTs of a link, for a message about its wiring."""
    for link in project.links:
        if set(link.boards) == {own.number, peer.number}:
            return f" ({link.uart_at(own.number)} to {link.uart_at(peer.number)})"
    return ""


def _cut(project: Project, error: BoardError) -> ProjectCut | None:
    """Return the cut that an error of a link names."""
    numbered: Sequence[ProjectCut] = [cut for cut in project.cuts if cut.number == error.detail + 1]
    return numbered[0] if numbered else None


def _silences(project: Project, evidence: Evidence) -> Iterator[str]:
    for board in project.boards:
        if board.number not in evidence.after:
            yield f"{board.title} does not reply: check its power, firmware and wiring"


def _line_errors(project: Project, evidence: Evidence) -> Iterator[str]:
    for board in project.boards:
        count = evidence.after[board.number].line_errors
        if count:
            yield f"{board.title} counted {count} line errors: check pins, ground and baud rate"
