"""Lets PlatformIO's line about flash and RAM count all that the ELF file has (extra_scripts of platformio.ini)."""

# Sections as `arm-none-eabi-size -A` prints them, by the memory that they take; .data and .ram_code take both.
FLASH_SECTIONS = (".isr", ".text", ".weights", ".note.tinysplit", ".ARM.exidx", ".data", ".ram_code", ".checksum")
RAM_SECTIONS = (".stack", ".data", ".bss", ".noinit", ".arena", ".ram_code", ".dma")


def size_pattern(sections: tuple[str, ...]) -> str:
    """Return the pattern by which PlatformIO finds the bytes of `sections`."""
    names = "|".join(name.replace(".", r"\.") for name in sections)
    return rf"^(?:{names})\s+(\d+)\s"


if __name__ == "SCons.Script":
    from SCons.Script import Import

    Import("env")
    env.Replace(  # noqa: F821
        SIZETOOL="arm-none-eabi-size",
        SIZECHECKCMD="$SIZETOOL -A -d $SOURCES",
        SIZEPROGREGEXP=size_pattern(FLASH_SECTIONS),
        SIZEDATAREGEXP=size_pattern(RAM_SECTIONS),
    )
