"""What the programs of a project have beside the network."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tinysplit.codegen.mlperf import Mlperf
from tinysplit.common.choices import WeightsIn
from tinysplit.common.errors import UsageError
from tinysplit.common.secret_key import SecretKey, weights_key
from tinysplit.project.structure import Structure
from tinysplit.weights_file.signing_key import SigningKey, signing_key


@dataclass(frozen=True, kw_only=True)
class ProgramSettings:
    """What is chosen for the programs of a project: where the weights are, and whether their files are signed.

    `structure_of` is a generated folder whose programs the weights files are for: they decide all but markers. See
    ProgramOptions for the others.
    """

    weights: WeightsIn = WeightsIn.ARRAYS
    sign: bool = False
    structure_of: Path | None = None
    has_markers: bool = False
    has_diagnostics: bool = True


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """Options of all programs of a project.

    With `mlperf`, the board that reads the input speaks MLPerf Tiny's protocol; with `has_markers`, pins of all boards
    are high while layers and transfers run; without `has_diagnostics`, no board has the requests that only measuring
    needs. With `weights_counter`, the weights are in configuration files, which have this counter, encrypted with
    `weights_key` and signed by `weights_signer` if there are such; with `structure`, the programs have to be those of
    this structure.
    """

    mlperf: Mlperf | None = None
    has_markers: bool = False
    has_diagnostics: bool = True
    weights_counter: int | None = None
    weights_key: SecretKey | None = None
    weights_signer: SigningKey | None = None
    structure: Structure | None = None

    @classmethod
    def of(cls, settings: ProgramSettings, mlperf: Mlperf | None = None) -> Self:
        """Return the options with the keys that the environment names.

        Raises UsageError for settings that contradict each other or the structure, InputError for keys that are missing
        or wrong and for a folder that has no structure, ToolError without the package `cryptography`.
        """
        structure = Structure.read(settings.structure_of) if settings.structure_of else None
        weights, is_signed, has_diagnostics = settings.weights, settings.sign, settings.has_diagnostics
        if structure:
            _check_same(structure, settings)
            weights, is_signed = structure.weights, structure.is_signed
            has_diagnostics = structure.project.has_diagnostics
        if is_signed and weights is WeightsIn.ARRAYS:
            raise UsageError("--sign signs weights files: add --weights binary or --weights encrypted")
        if weights.are_encrypted and mlperf:
            raise UsageError(
                "--host-protocol mlperf has no request for a key: encrypted weights need tinysplit's protocol"
            )
        signer = signing_key() if is_signed else None
        if structure and signer:
            structure.check_signer(signer.public_key)
        return cls(
            mlperf=mlperf,
            has_markers=settings.has_markers,
            has_diagnostics=has_diagnostics,
            weights_counter=structure.next_counter if structure else weights.first_counter,
            weights_key=weights_key() if weights.are_encrypted else None,
            weights_signer=signer,
            structure=structure,
        )


def _check_same(structure: Structure, settings: ProgramSettings) -> None:
    """Raise UsageError for settings that programs of a structure do not have. Those that are not given are its own."""
    if settings.weights not in (WeightsIn.ARRAYS, structure.weights):
        raise UsageError(f"the weights of {structure.folder} are {structure.weights}: leave --weights out")
    if structure.project.has_diagnostics and not settings.has_diagnostics:
        raise UsageError(f"the programs of {structure.folder} have diagnostics: leave --no-diagnostics out")
    if settings.sign and not structure.is_signed:
        raise UsageError(f"the weights of {structure.folder} are not signed: leave --sign out")


PLAIN = ProgramOptions()
