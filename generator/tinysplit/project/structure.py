"""The structure of a generated folder: all of its programs but the weights, which configuration files have."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from tinysplit.common.choices import WeightsIn
from tinysplit.common.errors import CheckFailedError, InputError, UsageError
from tinysplit.common.output_folder import is_of_application
from tinysplit.common.project_files import SPLIT_NAME
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.project.manifest import Project
from tinysplit.project.split_file import SplitFile, SplitModel
from tinysplit.settings.fixed_point import MAX_ACCURACY_DROP, MIN_SQNR
from tinysplit.settings.programs import STRUCTURE_OF, WEIGHTS
from tinysplit.settings.result_files import OUT
from tinysplit.settings.search import SLICES

_COMMENT = re.compile(rb"/\*.*?\*/", re.DOTALL)
_SUFFIXES = {".c", ".h", ".ld"}
LARGEST_COUNTER = (1 << 32) - 1
CONTENT_HEADER = "weights_crc.h"  # changes with the weights
_CONTENT_HEADERS = {CONTENT_HEADER, "tinysplit.h"}  # and what the application knows of the network


def sources_of(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and text, without comments, of each source of a board's program.

    Those of its application and those that its weights change are left out.
    """
    paths = (path for path in directory.rglob("*") if path.suffix in _SUFFIXES and path.name not in _CONTENT_HEADERS)
    for path in sorted(paths):
        name = path.relative_to(directory).as_posix()
        if not is_of_application(f"{directory.name}/{name}"):
            yield name, _COMMENT.sub(b"", path.read_bytes())


@dataclass(frozen=True)
class Structure:
    """A generated folder whose structure another network of the same layers gets."""

    folder: Path
    project: Project

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read it from a generated folder. Raises InputError for one that cannot be used."""
        project = Project.read(folder)
        if project.weights_counter is None:
            raise InputError(f"{folder} has its weights in C arrays: generate it with {WEIGHTS('binary')}")
        if project.is_distributed:
            raise InputError(
                f"{folder} divides layers over boards: {STRUCTURE_OF} takes whole layers only: split with "
                f"{SLICES('none')}"
            )
        return cls(folder, project)

    @property
    def formats(self) -> tuple[LayerFormats, ...]:
        """Formats of all layers, with what the code of the boards of all copies depends on."""
        groups = {
            layer.number: layer.formats.packed_groups for layer in self.project.layers if layer.formats.packed_groups
        }
        return tuple(
            replace(formats, packed_groups=groups.get(number, ()))
            for number, formats in enumerate(self.project.formats, 1)
        )

    @property
    def is_encrypted(self) -> bool:
        """Whether its configuration files are encrypted."""
        return any(board.weights_file and board.weights_file.is_encrypted for board in self.project.boards)

    @property
    def is_signed(self) -> bool:
        """Whether its configuration files are signed."""
        return self.project.signing_key is not None

    @property
    def weights(self) -> WeightsIn:
        """Where its programs have the weights."""
        return WeightsIn.ENCRYPTED if self.is_encrypted else WeightsIn.BINARY

    def check_signer(self, public_key: bytes) -> None:
        """Raise InputError unless this is the public key of who signs its configuration files."""
        if public_key.hex() != self.project.signing_key:
            raise InputError(
                f"the weights of {self.folder} are signed with the key {self.project.signing_key}, and the signing key "
                f"that is set is {public_key.hex()}: set the right one"
            )

    def check_use(self, out: Path, *, has_limits: bool) -> None:
        """Raise UsageError where another network is to replace this one in `out`, or to have widths by its accuracy."""
        if out.resolve() == self.folder.resolve():
            raise UsageError(f"{STRUCTURE_OF} {self.folder} is the folder that is written: give another one with {OUT}")
        if has_limits:
            raise UsageError(
                f"the bit widths are those of {self.folder}: leave {STRUCTURE_OF} out, or {MAX_ACCURACY_DROP} and "
                f"{MIN_SQNR}"
            )

    @property
    def next_counter(self) -> int:
        """The counter of the next network of this structure. Raises InputError behind the largest one."""
        counter = (self.project.weights_counter or 0) + 1
        if counter > LARGEST_COUNTER:
            raise InputError(
                f"{self.folder} has the largest counter, {LARGEST_COUNTER}: generate without {STRUCTURE_OF}"
            )
        return counter

    def split_for(self, split: SplitFile, graph: Graph) -> SplitFile:
        """Return the split of the structure's network as one of the network `graph`.

        Raises InputError for a split of other boards.
        """
        boards = [board.name for board in self.project.boards]
        if [*split.board_names] != boards:
            raise InputError(
                f"the split is of {', '.join(split.board_names)}, and {self.folder} is of {', '.join(boards)}: use "
                f"{self.folder / SPLIT_NAME}"
            )
        return split.model_copy(update={"model": SplitModel(name=graph.name, sha256=graph.sha256)})

    def check_same(self, folder: Path) -> None:
        """Raise CheckFailedError, naming what differs, unless the programs in `folder` have this structure."""
        for board in self.project.boards:
            before, now = (dict(sources_of(each / board.directory)) for each in (self.folder, folder))
            differing = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
            differing = [name for name in differing if not name.endswith("project_hash.c")]
            if differing:
                raise CheckFailedError(
                    f"the network has another structure than {self.folder}: {board.title} differs in "
                    f"{', '.join(differing)}: generate it with the options of that folder, or without {STRUCTURE_OF}, "
                    "and flash the programs"
                )
