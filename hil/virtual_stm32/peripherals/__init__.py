"""The peripherals of the STM32 families, as far as the firmware uses them."""
