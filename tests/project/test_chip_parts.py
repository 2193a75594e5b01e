"""What an application says that it uses, against what the firmware has."""

from pathlib import Path

import pytest

from tinysplit.common.errors import InputError
from tinysplit.project.chip_parts import FirmwarePart, check_application_parts

PARTS = (
    FirmwarePart(name="TIM2", note="counts cycles"),
    FirmwarePart(
        name="USART1",
        pins=("PA9", "PA10"),
        dma_channels=("DMA1_Channel1",),
        interrupts=("DMA1_Channel1", "USART1"),
        priority=2,
    ),
)
DEVICE = ("TIM3", "USART1", "DMA1_Channel1")


def check(folder: Path, text: str) -> None:
    (folder / "application.toml").write_text(text)
    check_application_parts(folder, PARTS, DEVICE)


def test_a_part_is_one_line() -> None:
    assert [part.text for part in PARTS] == [
        "TIM2 (counts cycles)",
        "USART1 (PA9, PA10; DMA1_Channel1; interrupts DMA1_Channel1, USART1, priority 2)",
    ]
    assert FirmwarePart(name="IWDG").text == "IWDG"


def test_what_is_free_may_be_used(tmp_path: Path) -> None:
    check_application_parts(tmp_path, PARTS, DEVICE)
    check(tmp_path, "")
    check(tmp_path, 'pins = ["PA8", "PB9"]\nperipherals = ["TIM3", "DMA1_Channel2"]\ninterrupts = ["TIM3"]\n')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('pins = ["PA8", "PA10"]', r"pin PA10 is used by the firmware: USART1 \(PA9"),
        ('peripherals = ["TIM2"]', r"peripheral TIM2 is used by the firmware: TIM2 \(counts cycles\)"),
        ('peripherals = ["DMA1_Channel1"]', "peripheral DMA1_Channel1 is used by the firmware: USART1"),
        ('interrupts = ["USART1"]', "interrupt USART1 is used by the firmware: USART1"),
        ('interrupts = ["TIM33"]', "TIM33 is no interrupt of this device: src/vectors.c has all names"),
        ('pins = ["A8"]', 'has to be the name of a pin, as "PA5"'),
        ('pins = ["PA09"]', 'has to be the name of a pin, as "PA5"'),
        ('pins = ["PA16"]', 'has to be the name of a pin, as "PA5"'),
        ('peripherals = ["tim2"]', 'has to be the name of a peripheral, as "TIM3"'),
        ('pin = ["PA8"]', "pin"),
        ("pins = [", "not a TOML file"),
    ],
)
def test_what_the_firmware_has_and_mistakes_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"application.toml: .*{message}|application.toml: {message}"):
        check(tmp_path, text)


def test_a_file_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "application.toml").symlink_to(tmp_path / "nowhere.toml")
    with pytest.raises(InputError, match=r"application\.toml cannot be read"):
        check_application_parts(tmp_path, PARTS, DEVICE)
