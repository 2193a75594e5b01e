"""The features of the keyword spotting network: MFCC as MLPerf Tiny defines them, in floating point and in integers.

Of every 20 ms, a window of 30 ms of 16 kHz samples: Hann window, magnitudes of a 512-point FFT, 40 triangular mel bands
from 20 Hz to 4 kHz, logarithm, DCT-II, of which the first 10 coefficients are the features (mlcommons/tiny,
benchmark/training/keyword_spotting/get_dataset.py). `of_samples` is that in integers, bit by bit what
`application_features.c` computes; `definition` is the same in floating point.
"""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

RATE_HZ = 16_000
WINDOW, HOP, FFT = 480, 320, 512
BANDS, COEFFICIENTS = 40, 10
LOWEST_HZ, HIGHEST_HZ = 20.0, 4000.0
FLOOR = 1e-6  # added to the energy of a band, so that it has a logarithm
FULL_SCALE = 32768  # the sample that stands for 1.0

# Fraction bits of the integers.
HANN_BITS, TWIDDLE_BITS, MEL_BITS, LOG_BITS, DCT_BITS, FEATURE_BITS = 15, 31, 15, 16, 18, 8
LOG_STEPS_BITS = 6  # the table of logarithms has 64 steps

_HALF = FFT // 2  # two real samples are one complex one
_BINS = FFT * int(HIGHEST_HZ) // RATE_HZ  # the bands have bins 1 to _BINS - 1
_SPECTRUM_BITS = 21  # a magnitude of 1.0, after the window (15 + 15 - 1 bits) and 8 stages of the FFT that halve
_MAGNITUDE_BITS = 3  # fraction bits of a square root, in addition
_BAND_BITS = _SPECTRUM_BITS + _MAGNITUDE_BITS + MEL_BITS
_WORD_BITS = 32
_LONG_BITS = 64


# The definition


def _mel(hz: Reals) -> Reals:
    return np.asarray(1127.0 * np.log1p(hz / 700.0))


def _edges() -> Reals:
    """Return where the mel bands begin, have their centres, and end."""
    return np.linspace(_mel(np.array(LOWEST_HZ)), _mel(np.array(HIGHEST_HZ)), BANDS + 2)


def mel_weights() -> Reals:
    """Return the triangles of the mel bands, bins x bands, without the bin of 0 Hz (tf.signal)."""
    bins = _mel(np.linspace(0.0, RATE_HZ / 2, _HALF + 1))[:, None]
    low, centre, high = _edges()[:-2], _edges()[1:-1], _edges()[2:]
    weights = np.maximum(0.0, np.minimum((bins - low) / (centre - low), (high - bins) / (high - centre)))
    weights[0] = 0.0
    return np.asarray(weights)


def hann() -> Reals:
    """Return the periodic Hann window."""
    return np.asarray(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW))


def dct() -> Reals:
    """Return the DCT-II with the factor of tf.signal.mfccs_from_log_mel_spectrograms, coefficients x bands."""
    angles = np.pi / BANDS * np.outer(np.arange(COEFFICIENTS), np.arange(BANDS) + 0.5)
    return np.asarray(2.0 * np.cos(angles) / np.sqrt(2.0 * BANDS))


def frames(samples: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the windows of samples, N x WINDOW: as many as are complete."""
    count = max(0, (len(samples) - WINDOW) // HOP + 1)
    return np.asarray(samples[np.arange(count)[:, None] * HOP + np.arange(WINDOW)])


def definition(samples: NDArray[np.int16]) -> Reals:
    """Return the features of 16 kHz samples in floating point, N x COEFFICIENTS."""
    spectrum = np.abs(np.fft.rfft(frames(samples) / FULL_SCALE * hann(), FFT))
    return np.asarray(np.log(spectrum @ mel_weights() + FLOOR) @ dct().T)


# In integers


def _fixed(values: Reals, bits: int) -> Integers:
    return np.floor(values * 2.0**bits + 0.5).astype(np.int64)


def _twiddles() -> tuple[Integers, Integers]:
    """Return cosine and negative sine of half a circle in FFT / 2 steps; 1 is a little less, to fit 32 bits."""
    angles = 2 * np.pi * np.arange(_HALF) / FFT
    limit = (1 << TWIDDLE_BITS) - 1
    cosines, sines = (_fixed(each, TWIDDLE_BITS).clip(-limit, limit) for each in (np.cos(angles), -np.sin(angles)))
    return cosines, sines


def _bands() -> tuple[Integers, Integers]:
    """Return for each bin the band on whose falling side it lies, -1 for none, and how much of the bin that band gets.

    The rest of it goes to the next band: the sides of neighbours add up to 1.
    """
    edges = _edges()
    places = (_mel(np.arange(_BINS) * RATE_HZ / FFT) - edges[0]) / (edges[1] - edges[0])
    band = np.floor(places).astype(np.int64) - 1
    return band, _fixed(1.0 - places % 1.0, MEL_BITS)


def _logarithms() -> Integers:
    steps = 1 << LOG_STEPS_BITS
    return _fixed(np.log2(1.0 + np.arange(steps + 1) / steps), LOG_BITS)


def _dct_table() -> Integers:
    return _fixed(dct() * np.log(2.0), DCT_BITS)  # the logarithms are to the base of 2


def _half_times(real: Integers, imaginary: Integers, cosine: Integers, sine: Integers) -> tuple[Integers, Integers]:
    """Return half of a complex product, rounded."""
    half = 1 << TWIDDLE_BITS
    products = real * cosine - imaginary * sine, real * sine + imaginary * cosine
    return (products[0] + half) >> (TWIDDLE_BITS + 1), (products[1] + half) >> (TWIDDLE_BITS + 1)


def _reversed() -> Integers:
    order = np.zeros(_HALF, np.int64)
    for bit in range(_HALF.bit_length() - 1):
        order |= (np.arange(_HALF) >> bit & 1) << (_HALF.bit_length() - 2 - bit)
    return order


def _spectrum(windowed: Integers) -> tuple[Integers, Integers]:
    """Return the bins 1 to _BINS - 1 of the FFT of N x FFT real values: a complex FFT of half as many, radix 2."""
    cosines, sines = _twiddles()
    real, imaginary = (windowed[:, part::2][:, _reversed()] for part in (0, 1))
    size = 2
    while size <= _HALF:
        shape = (len(windowed), _HALF // size, 2, size // 2)
        step = FFT // size
        (a, b), (c, d) = (np.moveaxis(each.reshape(shape), 2, 0) for each in (real, imaginary))
        e, f = _half_times(b, d, cosines[::step][: size // 2], sines[::step][: size // 2])
        halves = (a + 1) >> 1, (c + 1) >> 1
        real, imaginary = (
            np.stack((low + high, low - high), 2).reshape(len(windowed), _HALF)
            for low, high in zip(halves, (e, f), strict=True)
        )
        size *= 2
    k = np.arange(1, _BINS)
    odd = _half_times(imaginary[:, k] + imaginary[:, -k], real[:, -k] - real[:, k], cosines[k], sines[k])
    return ((real[:, k] + real[:, -k]) >> 1) + odd[0], ((imaginary[:, k] - imaginary[:, -k]) >> 1) + odd[1]


def _bit_length(values: NDArray[np.uint64]) -> Integers:
    length = np.zeros(values.shape, np.int64)
    rest = values.copy()
    for step in (32, 16, 8, 4, 2, 1):
        large = rest >= np.uint64(1 << step)
        length += np.where(large, step, 0)
        rest = np.where(large, rest >> np.uint64(step), rest)
    return length + (rest > 0)


def _shifted(values: NDArray[np.uint64], left: Integers) -> NDArray[np.uint64]:
    """Return values shifted to the left, or to the right where `left` is negative."""
    return np.asarray(values << np.maximum(left, 0).astype(np.uint64) >> np.maximum(-left, 0).astype(np.uint64))


def _root(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return square roots: of the highest 31 or 32 bits, by Newton's method from at most a quarter too much."""
    left = -((_bit_length(values) - _WORD_BITS + 1) & ~1)
    n = np.maximum(_shifted(values, left), 1)
    roots = (n >> np.uint64(17)) + np.uint64(1 << 15)
    for _ in range(3):
        roots = (roots + n // roots) >> np.uint64(1)
    return np.where(values > 0, _shifted(roots, -left // 2), np.uint64(0))


def _log2(values: NDArray[np.uint64]) -> Integers:
    """Return logarithms to the base of 2, of values above 0, by a table with linear interpolation."""
    table = _logarithms()
    exponent = _bit_length(values) - 1
    mantissa = (values << (_LONG_BITS - 1 - exponent).astype(np.uint64)).astype(np.uint64) >> np.uint64(_WORD_BITS)
    rest_bits = _WORD_BITS - 1 - LOG_STEPS_BITS
    step = (mantissa >> np.uint64(rest_bits)).astype(np.int64) & ((1 << LOG_STEPS_BITS) - 1)
    rest = (mantissa.astype(np.int64) & ((1 << rest_bits) - 1)) >> (rest_bits - LOG_BITS)
    return np.asarray((exponent << LOG_BITS) + table[step] + ((table[step + 1] - table[step]) * rest >> LOG_BITS))


def of_samples(samples: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the features of 16 kHz samples as integers with FEATURE_BITS fraction bits, N x COEFFICIENTS."""
    windowed = np.zeros((len(frames(samples)), FFT), np.int64)
    windowed[:, :WINDOW] = frames(samples).astype(np.int64) * _fixed(hann(), HANN_BITS) >> 1
    real, imaginary = _spectrum(windowed)
    power = (real * real + imaginary * imaginary).astype(np.uint64)
    magnitudes = _root(power << np.uint64(2 * _MAGNITUDE_BITS))
    bands = np.full((len(windowed), BANDS), round(FLOOR * 2.0**_BAND_BITS), np.uint64)
    band, weights = _bands()
    for bin_number in range(1, _BINS):
        falling = int(band[bin_number])
        own = magnitudes[:, bin_number - 1]
        weight = np.uint64(weights[bin_number])
        if falling >= 0:
            bands[:, falling] += own * weight
        if falling + 1 < BANDS:
            bands[:, falling + 1] += own * (np.uint64(1 << MEL_BITS) - weight)
    logarithms = _log2(bands) - (_BAND_BITS << LOG_BITS)
    shift = LOG_BITS + DCT_BITS - FEATURE_BITS
    sums = logarithms @ _dct_table().T + (1 << (shift - 1)) >> shift
    return np.asarray(np.clip(sums, -(1 << 15), (1 << 15) - 1), np.int16)


def tables() -> str:
    """Return application_tables.h: the constants of `application_features.c`."""
    cosines, sines = _twiddles()
    band, weights = _bands()
    window = _fixed(hann(), HANN_BITS)[: WINDOW // 2 + 1]  # the rest is its mirror
    arrays = (
        ("uint16_t", "hann", "WINDOW / 2 + 1", window),
        ("int32_t", "cosines", "FFT / 2", cosines),
        ("int32_t", "sines", "FFT / 2", sines),
        ("int8_t", "falling_band", "BINS", band),
        ("uint16_t", "falling_weight", "BINS", weights),
        ("int32_t", "logarithms", "LOG_STEPS + 1", _logarithms()),
        ("int32_t", "dct", "COEFFICIENTS * BANDS", _dct_table().ravel()),
    )
    sizes = {
        "RATE_HZ": RATE_HZ,
        "WINDOW": WINDOW,
        "HOP": HOP,
        "FFT": FFT,
        "BINS": _BINS,
        "BANDS": BANDS,
        "COEFFICIENTS": COEFFICIENTS,
        "LOG_STEPS": 1 << LOG_STEPS_BITS,
        "BAND_BITS": _BAND_BITS,
        "BAND_FLOOR": round(FLOOR * 2.0**_BAND_BITS),
    }
    lines = ["/* Constants of the features, written by mfcc.py. */", "#ifndef APPLICATION_TABLES_H"]
    lines += ["#define APPLICATION_TABLES_H", "", "#include <stdint.h>", ""]
    lines += ["enum {", *(f"  {name} = {size}," for name, size in sizes.items()), "};"]
    for kind, name, count, values in arrays:
        lines += ["", f"static const {kind} {name}[{count}] = {{"]
        lines += [f"  {', '.join(map(str, values[at : at + 8]))}," for at in range(0, len(values), 8)]
        lines += ["};"]
    return "\n".join([*lines, "", "#endif", ""])
