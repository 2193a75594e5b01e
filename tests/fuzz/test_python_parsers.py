"""The Python code that parses what boards and other people send: mutated inputs raise the documented errors only.

`./run test tests/fuzz --profile nightly` tries 100 000 inputs each, of networks 10 000.
"""

import json
import struct
import tempfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto

import example
from profiles import cases
from shared_folder import made_once
from tinysplit.boards.family_schema import FamilyFile
from tinysplit.boards.schema import BoardFile, read_toml
from tinysplit.cli.config.file import read_config
from tinysplit.common.errors import InputError
from tinysplit.explore.prices import read_prices
from tinysplit.network.sample_files import SampleFile
from tinysplit.onnx_import import import_model
from tinysplit.project.manifest import Project
from tinysplit.project.split_file import read_split
from tinysplit.weights_file.file import Identity, decode, encode
from tinysplit.weights_file.layers import LayerEntry
from tinysplit_hil import protocol
from tinysplit_hil.bench.rig_file import read_rig_file
from tinysplit_hil.frames import Frame, FrameDecoder
from tinysplit_hil.weights_protocol import Staging, WeightsIdentity
from weights_folders import signer

N_FAST = cases(quick=50, full=500, nightly=100_000)
N_FILES = cases(quick=30, full=200, nightly=100_000)
N_NETWORKS = cases(quick=10, full=100, nightly=10_000)

Change = tuple[int, int, bytes]  # where, how many bytes are replaced, by what
changes = st.lists(
    st.tuples(st.integers(0, 2**16), st.sampled_from([0, 0, 1, 1, 1, 2, 4, 40]), st.binary(max_size=6)),
    min_size=1,
    max_size=5,
)


def changed(content: bytes, found: Sequence[Change]) -> bytes:
    data = bytearray(content)
    for place, count, new in found:
        at = place % (len(data) + 1)
        data[at : at + count] = new
    return bytes(data)


def in_file(name: str, content: bytes, read: Callable[[Path], object]) -> None:
    """Read a file with this content; InputError is the only error, in one line that names the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            read(path)
        except InputError as error:
            assert "\n" not in str(error).strip()  # noqa: PT017


# --- what boards send ------------------------------------------------------------------------------------------------

PAYLOADS: dict[str, Callable[[bytes], object]] = {
    "identity": protocol.Identity.unpack,
    "stack": protocol.StackUse.unpack,
    "weights": WeightsIdentity.unpack,
    "staging": Staging.unpack,
    "times": protocol.TimeRecord.unpack_all,
    "sendings": protocol.Sending.unpack_all,
    "done": protocol.Done.unpack,
    "error": protocol.BoardError.unpack,
    "taken": protocol.unpack_taken,
    "clock": protocol.unpack_clock,
    "ends": lambda payload: protocol.unpack_ends(payload, 2**33),
    "ticks": protocol.unpack_ticks,
}


@pytest.mark.parametrize("name", PAYLOADS)
@settings(max_examples=N_FAST)
@given(st.binary(max_size=80))
def test_payloads(name: str, payload: bytes) -> None:
    with suppress(ValueError, struct.error):
        PAYLOADS[name](payload)


@settings(max_examples=N_FAST)
@given(st.lists(st.binary(max_size=20)), st.binary(max_size=40), changes, st.integers(1, 50))
def test_streams_of_frames(noise: list[bytes], payload: bytes, found: list[Change], step: int) -> None:
    """A whole frame behind any bytes is found, at the latest when the decoder gives up on what came before."""
    good = Frame(0x81, 7, payload)
    stream = b"".join(noise) + changed(good.encode(), found) + good.encode()
    decoder = FrameDecoder()
    frames = [frame for at in range(0, len(stream), step) for frame in decoder.feed(stream[at : at + step])]
    frames += decoder.give_up()
    assert good in frames


# --- files -----------------------------------------------------------------------------------------------------------

ROOT = example.FOLDER.parents[1]
RIG = b"""[[board]]
name = "nucleo_g071rb"
serial_number = "0667FF"
port = "/dev/ttyACM0"

[[board]]
name = "nucleo_f401re"
port = "/dev/ttyACM1"
"""
CONFIG = b"""board = ["nucleo_g071rb"]
bits = 8
baud = 921600
max-energy = 0.5
samples = "samples.npz"
"""
TOML: dict[str, tuple[bytes, Callable[[Path], object]]] = {
    "rig": (RIG, read_rig_file),
    "config": (CONFIG, read_config),
    "prices": (b"nucleo_g071rb = 11.20\nnucleo_f401re = 3\n", lambda path: read_prices(path, ())),
    "board": ((ROOT / "boards/nucleo_g071rb.toml").read_bytes(), lambda path: read_toml(path, BoardFile)),
    "family": ((ROOT / "boards/families/stm32g0.toml").read_bytes(), lambda path: read_toml(path, FamilyFile)),
}


@pytest.mark.parametrize("name", TOML)
@settings(max_examples=N_FILES)
@given(changes)
def test_toml(name: str, found: list[Change]) -> None:
    content, read = TOML[name]
    in_file("file.toml", changed(content, found), read)


def project_folder() -> Path:
    return made_once("fuzzed", lambda out: example.generate_example(out, "nucleo_g071rb", "nucleo_g071rb"))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["number", "name", "x"]), inner),
    max_leaves=4,
)


def with_other_value(data: object, path: list[int], value: object) -> object:
    """Return JSON data with one value, at the end of a path of choices, replaced or left out."""
    if not isinstance(data, dict | list) or not data or not path:
        return value
    keys = list(data) if isinstance(data, dict) else list(range(len(data)))
    key = keys[path[0] % len(keys)]
    if isinstance(data, dict):
        return {**data, key: with_other_value(data[key], path[1:], value)}
    return [*data[:key], with_other_value(data[key], path[1:], value), *data[key + 1 :]]


READ_JSON: dict[str, Callable[[Path], object]] = {
    "tinysplit.json": lambda path: Project.read(path.parent),
    "split.json": read_split,
}


@pytest.mark.parametrize("name", READ_JSON)
@settings(max_examples=N_FILES)
@given(st.lists(st.integers(0, 50), max_size=6), values, changes, st.booleans())
def test_json(name: str, path: list[int], value: object, found: list[Change], is_text: bool) -> None:
    content = (project_folder() / name).read_bytes()
    if is_text:
        content = changed(content, found)
    else:
        content = json.dumps(with_other_value(json.loads(content), path, value)).encode()
    in_file(name, content, READ_JSON[name])


def array_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        np.savez_compressed(path, x=np.zeros((3, 4), np.float32), y=np.zeros(3, np.int64))
        return path.read_bytes()


def read_both(path: Path) -> None:
    SampleFile(path).read()


ARRAYS = array_file()


@settings(max_examples=N_FILES)
@given(changes)
def test_arrays(found: list[Change]) -> None:
    in_file("x.npz", changed(ARRAYS, found), read_both)


@settings(max_examples=N_FILES)
@given(st.text('0123456789.,;"\n y-e', max_size=60) | st.text(max_size=20))
def test_tables(text: str) -> None:
    in_file("x.csv", text.encode("utf-8", "surrogatepass"), read_both)


WEIGHTS, SIGNED = (
    encode(
        Identity(board_index=1, structure=5, counter=3, model=7),
        (
            LayerEntry(2, "conv", (0,), 8, 0.03125, 0, 8, (1, 12)),
            LayerEntry(3, "add", (2, 0), 16, 2.0**-14, 0, None, (0, 9)),
        ),
        {"layer_2_weights": np.arange(9, dtype=np.int8)},
        signer=signing,
    )
    for signing in (None, signer())
)


@settings(max_examples=N_FAST)
@given(st.sampled_from((WEIGHTS, SIGNED)), changes, st.booleans())
def test_weights_files(file: bytes, found: list[Change], is_sealed: bool) -> None:
    content = changed(file, found)
    if is_sealed and len(content) > 16:  # with the right length and CRC
        content = content[:8] + struct.pack("<I", len(content)) + content[12:-4]
        content += struct.pack("<I", zlib.crc32(content))
    with suppress(ValueError):
        assert not decode(content).is_signed_by(signer(2).public_key)


# --- networks --------------------------------------------------------------------------------------------------------

MODEL = example.MODEL.read_bytes()


@settings(max_examples=N_NETWORKS)
@given(changes)
def test_damaged_networks(found: list[Change]) -> None:
    in_file("network.onnx", changed(MODEL, found), import_model)


def mutate(model: ModelProto, place: int, what: int, number: int) -> None:
    """Change one node, tensor or value of a network."""
    graph = model.graph
    node = graph.node[place % len(graph.node)]
    tensor = graph.initializer[place % len(graph.initializer)]
    names = [name for each in graph.node for name in (*each.input, *each.output)] + ["", "absent"]
    if what == 0 and node.input:
        node.input[number % len(node.input)] = names[number % len(names)]
    elif what == 1:
        node.op_type = ("Relu", "Add", "Conv", "Gemm", "Reshape", "Concat", "Softmax", "Pad", "MaxPool")[number % 9]
    elif what == 2 and node.attribute:
        attribute = node.attribute[number % len(node.attribute)]
        attribute.i = number - 3
        attribute.ints[:] = [number - 3] * len(attribute.ints)
    elif what == 3 and node.attribute:
        del node.attribute[number % len(node.attribute)]
    elif what == 4 and tensor.dims:
        tensor.dims[number % len(tensor.dims)] = (0, -1, 1, 2, 2**20, 2**62)[number % 6]
    elif what == 5:
        tensor.data_type = number % 24
    elif what == 6:
        graph.input[0].type.tensor_type.shape.dim.add(dim_value=number)
    elif what == 7:
        del graph.node[place % len(graph.node)]
    else:
        node.output[0] = names[number % len(names)]


@settings(max_examples=N_NETWORKS)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 8), st.integers(0, 40)), min_size=1, max_size=3))
def test_changed_networks(found: list[tuple[int, int, int]]) -> None:
    model = onnx.load_model_from_string(MODEL)
    for place, what, number in found:
        if len(model.graph.node) > 1:
            mutate(model, place, what, number)
    in_file("network.onnx", model.SerializeToString(), import_model)
