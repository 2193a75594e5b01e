"""Kernels for cores with the DSP extension (Cortex-M4, M7, M33): SMLAD, SXTB16 and other SIMD instructions."""
