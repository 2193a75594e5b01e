"""Split a trained CNN over several STM32 boards, write their firmware, and measure it."""
