"""Bit widths, and the accuracy that they have to keep."""

from tinysplit.settings.setting import Heading, Setting

BITS = Setting(
    "bits",
    "Bit width of weights and activations: 8, 16, or auto for mixed precision, which uses 16 bits only where "
    "accuracy requires it.",
    Heading.FIXED_POINT,
    values_in_scripts={"auto": "a goal"},
)
MAX_ACCURACY_DROP = Setting(
    "max_accuracy_drop",
    "Mixed precision: largest loss of top-1 accuracy in percentage points, for labelled samples (default: {}).",
    Heading.FIXED_POINT,
    argument="max_drop",
    at_least=0,
)
MIN_SQNR = Setting(
    "min_sqnr",
    "Mixed precision: least SQNR in dB before the softmax, for unlabelled samples (default: {}).",
    Heading.FIXED_POINT,
    argument="min_sqnr_db",
)
MAX_TIME_INCREASE = Setting(
    "max_time_increase",
    "By how many percent free scales and zero points of 8-bit values may increase the predicted cycles; 0: scales of "
    "joined values are powers of two.",
    Heading.FIXED_POINT,
    at_least=0,
)
