"""What Santamaria 2021 says of boards; costs of generated firmware do not depend on it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A board in Table 3: cycles per MACC, memories (KB of 1024 bytes) and clock."""

    cpm: float
    flash_bytes: int
    ram_bytes: int
    hz: int
