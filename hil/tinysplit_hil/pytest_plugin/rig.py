"""The boards on which the tests of a session measure."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tinysplit.common.choices import ProgrammerName
from tinysplit.common.errors import TinysplitError
from tinysplit_hil.pytest_plugin.options import PROGRAMMER_OPTION, RIG_OPTION, VIRTUAL, rig_of
from tinysplit_hil.rig.programmers import PROGRAMMERS
from tinysplit_hil.rig.rig import check_rig
from tinysplit_hil.rig.rig_file import read_rig_file

_Failed = pytest.fail.Exception


@dataclass(frozen=True)
class RigOfTests:
    """A rig as `tinysplit measure` takes it, and the program that flashes its boards.

    `boards` has the name of each board, None where the rig file does not tell it; it is empty for virtual boards, which
    are those of each project.
    """

    spec: str
    programmer: ProgrammerName
    boards: tuple[str | None, ...]

    @property
    def is_virtual(self) -> bool:
        """Whether boards are emulated in this process."""
        return self.spec == VIRTUAL

    def require(self, *names: str) -> None:
        """Skip the test unless the rig has boards with these names, in this order, as far as it tells its names."""
        if self.is_virtual:
            return
        differ = [own for own, name in zip(self.boards, names, strict=False) if own not in (None, name)]
        if differ or len(names) != len(self.boards):
            own_names = ", ".join(name or "?" for name in self.boards)
            pytest.skip(f"needs {', '.join(names)}; {self.spec} has {own_names}")


def rig_of_tests(config: pytest.Config) -> RigOfTests:
    """Return the rig that the options name. Fails the test in one line where it cannot be used."""
    spec = rig_of(config)
    programmer = config.getoption(PROGRAMMER_OPTION)
    if programmer not in PROGRAMMERS:
        raise _Failed(f"{PROGRAMMER_OPTION} {programmer}: expected one of {', '.join(PROGRAMMERS)}", pytrace=False)
    if spec != VIRTUAL and hasattr(config, "workerinput"):
        raise _Failed(f"{RIG_OPTION} {spec}: real boards run one test at a time: call pytest with -n 0", pytrace=False)
    try:
        check_rig(spec)
        boards = () if spec == VIRTUAL else tuple(board.name for board in read_rig_file(Path(spec)).board)
    except TinysplitError as error:
        raise _Failed(f"{RIG_OPTION}: {error}", pytrace=False) from None
    return RigOfTests(spec, ProgrammerName(programmer), boards)
