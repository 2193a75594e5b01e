"""What the programs of a project have beside the network."""

from dataclasses import dataclass

from tinysplit.codegen.mlperf import Mlperf
from tinysplit.common.secret_key import SecretKey
from tinysplit.project.structure import Structure
from tinysplit.weights_file.signing_key import SigningKey


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


PLAIN = ProgramOptions()
