"""`tinysplit example`: the examples that come with tinysplit, copied to where they can be used."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tinysplit.cli import completion
from tinysplit.cli.basic_options import Force, Json, emit
from tinysplit.cli.option import option
from tinysplit.common import package_files
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.settings.result_files import OUT

# What examples use of another one: it is copied with them.
_NEEDED = {"pytest": ("tiny_cnn", ("calibration.npz", "samples.npz", "tiny_cnn.onnx"))}

Name = Annotated[
    str | None,
    typer.Argument(
        help="Example to copy; without it, all are listed.", show_default=False, autocompletion=completion.examples
    ),
]
Out = Annotated[
    Path | None,
    option(OUT, "Folder for its files; by default one of its name.", show_default=False),
]


def example(name: Name = None, out: Out = None, force: Force = False, as_json: Json = False) -> None:
    """Copy the files of an example, such as network and samples of tiny_cnn, or list the examples."""
    examples = _examples()
    if name is None:
        if out:
            raise UsageError(f"{OUT} {out}: name the example whose files go there")
        names = {each: [file.name for file in files] for each, files in examples.items()}
        lines = [f"{each}: {', '.join(files)}" for each, files in names.items()]
        emit(as_json, {"examples": names}, lambda console: console.print(*lines, sep="\n", highlight=False))
        return
    if name not in examples:
        raise UsageError(f"there is no example {name!r}: use one of {', '.join(examples)}")
    folder = out or Path(name)
    _copy(examples[name], folder, force=force)
    data = {"folder": str(folder), "files": [file.name for file in examples[name]]}
    what = f"{len(examples[name])} files in {folder}"
    emit(as_json, data, lambda console: console.print(what, highlight=False, markup=False, soft_wrap=True))


def _examples() -> dict[str, list[Path]]:
    """Return the files of each example by its name."""
    folders = sorted(each for each in package_files.examples().iterdir() if each.is_dir())
    return {each.name: sorted(filter(Path.is_file, (*each.iterdir(), *_needed_by(each)))) for each in folders}


def _needed_by(folder: Path) -> Iterator[Path]:
    other, names = _NEEDED.get(folder.name, ("", ()))
    yield from (folder.parent / other / name for name in names)


def _copy(files: list[Path], folder: Path, *, force: bool) -> None:
    """Copy files into a folder. Raises InputError where another file would be overwritten, unless `force`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror}): name another folder") from None
    contents = {folder / file.name: file.read_bytes() for file in files}
    missing = {path: content for path, content in contents.items() if not _has(path, content)}
    for path in missing:
        check_output_file(path, force=force)
    for path, content in missing.items():
        write_whole_file(path, content)


def _has(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
