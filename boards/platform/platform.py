"""PlatformIO development platform that takes everything from the system: no packages, no boards, no frameworks."""

from platformio.platform.base import PlatformBase


class Tinysplit_systemPlatform(PlatformBase):  # noqa: N801 - PlatformIO derives this name from platform.json
    """STM32 with the arm-none-eabi-gcc on the PATH."""

    def is_embedded(self) -> bool:
        """Say that programs run elsewhere; PlatformIO would otherwise want an uploader package as the sign of it."""
        return True
