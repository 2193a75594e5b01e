"""The configuration files of a generated folder, before they are built in, flashed or sent."""

from pathlib import Path

from tinysplit.common.errors import InputError
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.weights_file.file import WeightsFile, read_weights_file


def own_weights_file(board: ProjectBoard, folder: Path) -> WeightsFile | None:
    """Return the file of a board in `folder`, None for weights in C arrays.

    Raises InputError for one that is damaged, or not the one that was generated for it.
    """
    if board.weights_file is None:
        return None
    path = board.weights_path(folder)
    file = read_weights_file(path)
    if file.crc != board.weights_file.crc:
        raise InputError(f"{path} is not the file of this project: generate the folder again")
    return file


def checked_weights_file(project: Project, board: ProjectBoard, folder: Path) -> WeightsFile | None:
    """Return the file of a board that is to leave `folder`, None for weights in C arrays.

    Raises InputError for one that is damaged, not that of the board, or not signed where files are; ToolError without
    the package that verifies signatures.
    """
    file = own_weights_file(board, folder)
    if not file or not project.signing_key or file.is_signed_by(bytes.fromhex(project.signing_key)):
        return file
    what = "its signature is wrong, or that of another key" if file.signature else "it has no signature"
    raise InputError(
        f"{board.weights_path(folder)} is not signed by the owner of the programs (public key {project.signing_key}): "
        f"{what}: generate the folder again"
    )
