"""The [[link]] tables of a rig file: written by `tinysplit bench check`, compared with the links of a project."""

import re
from collections.abc import Iterable
from pathlib import Path

from tinysplit.common.errors import InputError
from tinysplit.common.output_file import write_whole_file
from tinysplit.common.texts.quoting import toml_string
from tinysplit.project.manifest import Project
from tinysplit.settings.boards_and_links import BAUD
from tinysplit.settings.measurement import RIG
from tinysplit_hil.rig.rig_file import RigFile, RigLink, read_rig_of

HEAD = "# The links that `tinysplit bench check` found, with the highest baud rate without an error.\n"
_TABLE = re.compile(r"^[ \t]*\[")
_LINK = re.compile(r"^[ \t]*\[\[[ \t]*link[ \t]*\]\]")


def read_rig_of_project(path: Path, project: Project) -> RigFile:
    """Read the rig file of a project. Raises InputError also where it has other boards, or lacks links.

    A wiring test finds its links itself.
    """
    rig = read_rig_of(path, project.numbered_names)
    if project.layers:
        check_links(
            path, rig, [RigLink(boards=each.boards, uarts=each.uarts, baud=each.baud) for each in project.links]
        )
    return rig


def check_links(path: Path, rig: RigFile, links: Iterable[RigLink]) -> None:
    """Raise InputError unless the rig has all links, at their rates. A rig without links may have any."""
    known = {link.ends: link for link in rig.link}
    again = f"wire it, then `tinysplit bench check {RIG.option} {path} -o {path}`"
    for link in links:
        if not known:
            return
        first, second = (f"board {board} {uart}" for board, uart in zip(link.boards, link.uarts, strict=True))
        found = known.get(link.ends)
        if found is None:
            raise InputError(f"{path} has no [[link]] between {first} and {second}, which the project uses: {again}")
        if link.baud > found.baud:
            raise InputError(
                f"{path}: the [[link]] between {first} and {second} has no error up to {found.baud} baud, the project"
                f" uses {link.baud}: split again with {BAUD} {found.baud}"
            )


def write_links(path: Path, rig_text: str, links: Iterable[RigLink]) -> None:
    """Write a rig file with `links` in place of those of `rig_text`. Raises InputError when it cannot be written."""
    blocks = [f"{_without_links(rig_text).rstrip()}\n", *([HEAD] if links else []), *map(_block, links)]
    write_whole_file(path, "\n".join(blocks))


def _without_links(text: str) -> str:
    kept = []
    is_link = False
    for line in text.replace(HEAD, "").splitlines(keepends=True):
        if _TABLE.match(line):
            is_link = bool(_LINK.match(line))
        if not is_link or line.lstrip().startswith("#"):
            kept.append(line)
    return "".join(kept)


def _block(link: RigLink) -> str:
    uarts = ", ".join(map(toml_string, link.uarts))
    return f"[[link]]\nboards = {list(link.boards)}\nuarts = [{uarts}]\nbaud = {link.baud}\n"
