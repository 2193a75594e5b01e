"""examples/keyword_spotting: its features, its bad inputs, and what two virtual boards hear and tell."""

import subprocess
import wave
from pathlib import Path

import mfcc
import numpy as np
import onnxruntime
import pytest
import reference
import run as keyword_spotting
import scipy
from elftools.elf.elffile import ELFFile
from numpy.typing import NDArray

from programs.firmware_on_host import PROGRAMS, SANITIZED, WARNINGS
from session.shared_folder import made_once
from session.shared_models import KWS, shared_model
from tinysplit.common.errors import InputError
from tinysplit.project.manifest import Project

HERE = keyword_spotting.HERE
SPEECH = keyword_spotting.read_recording(HERE / "speech.wav")
WORD_BYTES = 4
MIDDLE = 2048


def _signals() -> dict[str, NDArray[np.int16]]:
    numbers = np.random.default_rng(0)
    times = np.arange(mfcc.RATE_HZ) / mfcc.RATE_HZ
    return {
        "speech": SPEECH,
        "noise": numbers.integers(-8000, 8000, mfcc.RATE_HZ, np.int16),
        "full scale": np.where(numbers.random(mfcc.RATE_HZ) < 0.5, -32768, 32767).astype(np.int16),
        "square wave": np.where(np.arange(mfcc.RATE_HZ) % 16 < 8, -32768, 32767).astype(np.int16),
        "chirp": (32767 * np.sin(2 * np.pi * 2000 * times**2)).astype(np.int16),
        "quiet": numbers.integers(-3, 4, mfcc.RATE_HZ, np.int16),
        "silence": np.zeros(mfcc.RATE_HZ, np.int16),
        "lowest": np.full(mfcc.RATE_HZ, -32768, np.int16),
    }


SIGNALS = _signals()
each_signal = pytest.mark.parametrize("name", SIGNALS)


def test_the_definition_is_that_of_its_parts_by_others() -> None:
    """SciPy's STFT and DCT; and the mel scale of HTK, which TensorFlow uses, written as 2595 log10(1 + f / 700)."""
    hop = mfcc.WINDOW - mfcc.HOP
    window = scipy.signal.get_window("hann", mfcc.WINDOW)
    samples = SPEECH / mfcc.FULL_SCALE
    stft = scipy.signal.stft(samples, nperseg=mfcc.WINDOW, noverlap=hop, nfft=mfcc.FFT, boundary=None, padded=False)[2]
    magnitudes = np.abs(stft).T * window.sum()
    mel = 2595 * np.log10(1 + np.arange(mfcc.FFT // 2 + 1) * mfcc.RATE_HZ / mfcc.FFT / 700)
    low, high = (2595 * np.log10(1 + hz / 700) for hz in (20, 4000))
    step = (high - low) / (mfcc.BANDS + 1)
    bands = np.stack([np.clip(1 - np.abs(mel - low - step * n) / step, 0, None) for n in range(1, mfcc.BANDS + 1)], 1)
    bands[0] = 0
    levels = np.log(magnitudes @ bands + 1e-6)
    expected = scipy.fft.dct(levels, norm="ortho") * np.where(np.arange(mfcc.BANDS) == 0, np.sqrt(2), 1)
    assert mfcc.definition(SPEECH) == pytest.approx(expected[:, : mfcc.COEFFICIENTS], abs=2e-2)


@pytest.mark.parametrize(
    ("name", "limit"), [("speech", 0.004), ("noise", 0.004), ("full scale", 0.004), ("silence", 0.004)]
)
def test_integers_are_close_to_the_definition(name: str, limit: float) -> None:
    samples = SIGNALS[name]
    difference = mfcc.of_samples(samples) / 2.0**mfcc.FEATURE_BITS - mfcc.definition(samples)
    assert np.abs(difference).max() < limit


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("features")
    (folder / "application_tables.h").write_text(mfcc.tables())
    sources = map(str, (PROGRAMS / "features.c", HERE / "application_features.c"))
    includes = (f"-I{folder}", f"-I{HERE}")
    subprocess.run(["gcc", *SANITIZED, *WARNINGS, *includes, *sources, "-o", str(folder / "features")], check=True)
    return folder / "features"


@each_signal
def test_the_c_equals_the_reference_bit_by_bit(program: Path, name: str) -> None:
    samples = SIGNALS[name]
    ahead = np.zeros(2 * mfcc.HOP - mfcc.WINDOW, np.int16)  # so that the second hop ends with the first window
    made = subprocess.run([program], input=np.concatenate([ahead, samples]).tobytes(), capture_output=True, check=True)
    features = np.frombuffer(made.stdout, np.int16).reshape(-1, mfcc.COEFFICIENTS)[1:]
    expected = mfcc.of_samples(samples)
    assert np.array_equal(features[: len(expected)], expected)


def test_a_bias_of_the_microphone_goes_away() -> None:
    levels = reference.adc_levels(SIGNALS["quiet"])
    biased = reference.without_dc([level - 497 for level in levels] * 3)  # 1.25 V of 3.3 V, as a MAX9814 has it
    assert abs(int(biased[-mfcc.RATE_HZ // 2 :].astype(int).mean())) < 16
    loud = reference.without_dc([4095] * 10 + [0] * 10)
    assert loud.min() == -32768


def _spoken(network: Path) -> list[str]:
    """Return the words of the recording that a network of floating point hears, a letter each for all others."""
    session = onnxruntime.InferenceSession(network)
    entry = session.get_inputs()[0]
    features = reference.frames(reference.adc_levels(SPEECH)) / np.float32(2.0**mfcc.FEATURE_BITS)
    ends = range(reference.FRAMES, len(features) + 1, reference.STEP)
    shape = [size if isinstance(size, int) else 1 for size in entry.shape]
    heard = []
    for end in ends:
        window = features[end - reference.FRAMES : end].astype(np.float32).reshape(shape)
        scores = session.run(None, {entry.name: window})[0][0]
        best = int(scores.argmax())
        heard.append(reference.WORDS[best] if best < len(reference.WORDS) and scores[best] > 0.8 else "")
    return [word for word, before in zip(heard, ["", *heard], strict=False) if word and word != before]


def test_the_network_hears_the_words_of_the_recording() -> None:
    assert _spoken(HERE / "keywords.onnx") == ["yes", "stop", "left", "no"]


def test_a_network_of_people_hears_words_in_these_features() -> None:
    """MLPerf Tiny's network was trained with TensorFlow's features, on recordings of people."""
    assert _spoken(shared_model(KWS))[0] == "yes"


@pytest.mark.parametrize(
    ("rate_hz", "channels", "message"),
    [(8000, 1, "has 8000 Hz, 16 bits, 1 channels"), (16_000, 2, "16 bits, 2 channels")],
)
def test_other_recordings_are_refused(tmp_path: Path, rate_hz: int, channels: int, message: str) -> None:
    path = tmp_path / "other.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(bytes(8))
    with pytest.raises(InputError, match=message):
        keyword_spotting.read_recording(path)
    path.write_bytes(b"text")
    with pytest.raises(InputError, match=r"other\.wav cannot be read as a WAV file"):
        keyword_spotting.read_recording(path)


def _symbol(elf: Path, name: str) -> int:
    with elf.open("rb") as file:
        [symbol] = ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name(name)
        return int(symbol["st_value"])


def test_a_network_of_other_shapes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"tiny_cnn\.onnx has other inputs and outputs than 49 x 10 features and 12 labels"
    ):
        keyword_spotting.generate(HERE.parent / "tiny_cnn" / "tiny_cnn.onnx", tmp_path / "out")


@pytest.mark.slow
def test_boards_tell_what_the_reference_tells() -> None:
    """From power-up on: the words, the LED, and the features in the RAM of board 1, bit by bit."""
    folder = made_once(
        "keyword_spotting", lambda out: keyword_spotting.generate(HERE / "keywords.onnx", out / "project")
    )
    folder /= "project"
    project = Project.read(folder)
    levels = reference.adc_levels(SPEECH[mfcc.RATE_HZ // 2 : 9 * mfcc.RATE_HZ // 4])
    rig, heard = keyword_spotting.play(project, folder, levels)
    inferences = len(heard.result_s)
    expected = keyword_spotting.expected_lines(folder, levels, inferences)
    assert inferences > 8
    assert [text for _, text in heard.lines] == expected
    assert expected[0].startswith("yes ")
    assert heard.lit_s[0] < heard.lines[0][0] < heard.lit_s[0] + 0.01
    assert np.diff(heard.result_s) == pytest.approx(0.1, abs=0.005)
    features = reference.frames([*levels, *[MIDDLE] * mfcc.RATE_HZ])
    kept = 64
    at, count_at = (_symbol(project.boards[0].elf(folder), name) for name in ("kept_frames", "frame_count"))
    count = rig.read_word(0, count_at)
    raw = b"".join(
        rig.read_word(0, at + offset).to_bytes(4, "little")
        for offset in range(0, kept * mfcc.COEFFICIENTS * 2, WORD_BYTES)
    )
    ring = np.frombuffer(raw, np.int16).reshape(kept, mfcc.COEFFICIENTS)
    for frame in range(count - kept + 1, count):
        assert np.array_equal(ring[frame % kept], features[frame]), frame
