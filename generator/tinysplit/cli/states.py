"""`tinysplit keep-state`: states of recurrent layers that boards keep from one inference to the next."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from tinysplit.cli.basic_options import Force, Json, Model, emit
from tinysplit.cli.option import option
from tinysplit.common.errors import UsageError
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.network.onnx_file.kept_states import keep_states
from tinysplit.network.onnx_file.model_source import load_source
from tinysplit.onnx_import import import_model
from tinysplit.settings.result_files import OUT

States = Annotated[list[str], typer.Argument(help="States: an input and the output that is its next value, as h0=hn.")]


def keep_state(
    model: Model,
    states: States,
    out: Annotated[Path, option(OUT, "ONNX file to write.")],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Name the states of a network that boards keep between inferences, in a copy of its file.

    They are 0 when the host begins a run, and neither in samples nor in results.
    """
    pairs = dict(map(_pair, states))
    if len(pairs) < len(states):
        raise UsageError("an input has two next values: name each state once")
    check_output_file(out, force=force)
    named = load_source(model)
    keep_states(named, pairs)
    content = named.SerializeToString()
    with TemporaryDirectory() as folder:
        copy = Path(folder) / f"{model.stem}.onnx"
        copy.write_bytes(content)
        import_model(copy, needs_weights=False)
    write_whole_file(out, content)
    text = f"{out}: boards keep {', '.join(states)}"
    emit(
        as_json,
        {"file": str(out), "states": pairs},
        lambda console: console.print(text, highlight=False, markup=False, soft_wrap=True),
    )


def _pair(text: str) -> tuple[str, str]:
    first, _, last = text.rpartition("=")
    if not first or not last:
        raise UsageError(f"{text!r} is no state: write input=output, as h0=hn")
    return first, last
