"""The configuration files of a generated folder, before they are built in, flashed or sent."""

from pathlib import Path

from tinysplit.common.errors import InputError
from tinysplit.project.manifest import ProjectBoard
from tinysplit.weights_file.file import WeightsFile, read_weights_file


def own_weights_file(board: ProjectBoard, folder: Path) -> WeightsFile | None:
    """Return the file of a board in `folder`, None for weights in C arrays.

    Raises InputError for one that is damaged, or not the one that was generated for it.
    """
    if board.weights_file is None:
        return None
    path = board.weights_path(folder)
    found = read_weights_file(path)
    if found.crc != board.weights_file.crc:
        raise InputError(f"{path} is not the file of this project: generate the folder again")
    return found
