"""Names of processor cores as GCC's -mcpu has them, by the instructions that kernels need."""

CORTEX_M0PLUS = "cortex-m0plus"
ARMV6M_CORES = frozenset(("cortex-m0", CORTEX_M0PLUS))  # with the 32-bit multiplication in one cycle
NARROW_CORES = ARMV6M_CORES | {"cortex-m3"}  # no SIMD: those on which kernels of armv6m run
DSP_CORES = frozenset(("cortex-m4", "cortex-m7", "cortex-m33"))  # SMLAD and other SIMD instructions
