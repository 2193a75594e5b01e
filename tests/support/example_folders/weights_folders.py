"""Folders generated with `--weights binary`: the example, and another network of the same structure."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from onnx import numpy_helper
from rich.console import Console

from example_folders import example
from models.onnx_builder import OnnxBuilder, conv
from session.shared_folder import made_once
from tinysplit import pipeline
from tinysplit.build.folder import build_folder
from tinysplit.codegen.program_options import ProgramOptions
from tinysplit.common.choices import Slices
from tinysplit.common.secret_key import SecretKey
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.project.manifest import Project
from tinysplit.project.standalone import ProjectStandalone
from tinysplit.project.structure import Structure
from tinysplit.slices.settings import Search
from tinysplit.weights_file.signing_key import SigningKey

KEY = SecretKey(bytes(range(16)))


def signer(seed: int = 1) -> SigningKey:
    """Return a private key, the same for the same seed."""
    return SigningKey.from_pem(pem_of(Ed25519PrivateKey.from_private_bytes(bytes([seed] * 32))), "the test's key")


def pem_of(key: PrivateKeyTypes, password: bytes | None = None) -> bytes:
    """Return a private key as OpenSSL writes it."""
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    return pem


def shared_binary(*boards: str) -> tuple[Project, Path]:
    """Return the built example, whose weights are in files, and its folder, made once: do not write into it."""

    def make(out: Path) -> None:
        build_folder(generate(out, *boards), out, Console(quiet=True)).check()

    folder = made_once("-".join(("binary", *boards)), make)
    return Project.read(folder), folder


def shared_encrypted(*boards: str) -> tuple[Project, Path]:
    """Return the same with weights that are encrypted with KEY."""

    def make(out: Path) -> None:
        build_folder(generate(out, *boards, key=KEY), out, Console(quiet=True)).check()

    folder = made_once("-".join(("encrypted", *boards)), make)
    return Project.read(folder), folder


def shared_signed(*boards: str) -> tuple[Project, Path]:
    """Return the same with files that are encrypted with KEY and signed by signer()."""

    def make(out: Path) -> None:
        build_folder(generate(out, *boards, key=KEY, signer=signer()), out, Console(quiet=True)).check()

    folder = made_once("-".join(("signed", *boards)), make)
    return Project.read(folder), folder


def generate(
    out: Path,
    *boards: str,
    model: Path = example.MODEL,
    samples: Path = example.CALIBRATION,
    structure: Path | None = None,
    key: SecretKey | None = None,
    signer: SigningKey | None = None,
    standalone: ProjectStandalone | None = None,
) -> Project:
    """Generate a network as the example is split over boards: every one gets a layer."""
    context = Context.load(model, boards, CostSettings(use_all=True), Console(quiet=True))
    split = pipeline.describe_split(context, pipeline.split_network(context, Search(slices=Slices.NONE)))
    options = ProgramOptions(weights_counter=1, weights_key=key, weights_signer=signer, standalone=standalone)
    if structure:
        kept = Structure.read(structure)
        options = replace(
            options, weights_counter=kept.next_counter, structure=kept, standalone=kept.project.standalone
        )
    context = replace(context, programs=options)
    return pipeline.generate_folder(context, split, samples, out)


def shared_chain(board: str, *widths: int) -> tuple[Project, Path]:
    """Return a built network of dense layers, encrypted with KEY, and its folder with `chain.npz` beside: read only."""

    def make(folder: Path) -> None:
        folder.mkdir()
        model, samples = dense_chain(folder, *widths)
        project = generate(folder / "out", board, model=model, samples=samples, key=KEY)
        build_folder(project, folder / "out", Console(quiet=True)).check()

    folder = made_once("-".join(("chain", board, *map(str, widths))), make) / "out"
    return Project.read(folder), folder


def dense_chain(folder: Path, *widths: int) -> tuple[Path, Path]:
    """Write a network of a convolution and dense layers of these widths, and samples for it."""
    rng, builder = np.random.default_rng(1), OnnxBuilder((1, 3, 8, 8))
    conv(builder, 8, 3, pads=(1, 1, 1, 1))
    builder.node("MaxPool", kernel_shape=(2, 2), strides=(2, 2))
    builder.node("Flatten")
    for before, width in pairwise((128, *widths)):
        weights = rng.normal(size=(before, width)) / np.sqrt(before)
        builder.node("Gemm", builder.constant(weights), builder.constant(rng.normal(size=width)))
        builder.node("Relu")
    np.savez(folder / "chain.npz", x=rng.random((8, 3, 8, 8), dtype=np.float32))
    return builder.save(folder), folder / "chain.npz"


def other_model(folder: Path, low: float = 0.8, high: float = 1.1, model_file: Path = example.MODEL) -> Path:
    """Write a network with weights that are multiplied by random numbers, under another name."""
    model, rng = onnx.load(model_file), np.random.default_rng(3)
    for parameter in model.graph.initializer:
        values = numpy_helper.to_array(parameter)
        if values.dtype == np.float32:
            other = (values * rng.uniform(low, high, values.shape)).astype(np.float32)
            parameter.CopyFrom(numpy_helper.from_array(other, parameter.name))
    model.graph.name = "another"
    onnx.save(model, folder / "other.onnx")
    return folder / "other.onnx"
