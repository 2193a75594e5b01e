"""A link in a file: the UARTs of two boards."""

from typing import NamedTuple

from typing_extensions import override

from tinysplit.common.file_schema import FileModel, Number


class FileLinkEnd(NamedTuple):
    """One end of a link: a board, by number, and the UART there."""

    board: int
    uart: str

    @override
    def __str__(self) -> str:
        return f"board {self.board} {self.uart}"


class FileLink(FileModel):
    """A UART connection between two boards; all pairs are in the order of `boards`."""

    boards: tuple[Number, Number]
    uarts: tuple[str, str]

    @property
    def ends(self) -> tuple[FileLinkEnd, FileLinkEnd]:
        """Both ends."""
        return FileLinkEnd(self.boards[0], self.uarts[0]), FileLinkEnd(self.boards[1], self.uarts[1])

    def uart_at(self, board: int) -> str:
        """Return the UART at one of the boards."""
        return self.uarts[self.boards.index(board)]
