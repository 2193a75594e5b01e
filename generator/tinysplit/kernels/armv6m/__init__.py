"""Kernels for Cortex-M0 and M0+ (ARMv6-M): a 32-bit multiplication in one cycle, no SIMD instructions."""
