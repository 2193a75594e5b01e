"""All parsers of the host."""

from fuzzing.board_targets import board_targets
from fuzzing.file_targets import file_targets
from fuzzing.network_targets import network_targets
from fuzzing.parameter_targets import parameter_targets
from fuzzing.session_targets import session_targets
from fuzzing.target import Target


def all_targets() -> dict[str, Target]:
    """Return the targets by their names."""
    every = (
        *board_targets(),
        *session_targets(),
        *file_targets(),
        *network_targets(),
        *parameter_targets(),
    )
    return {target.name: target for target in every}
