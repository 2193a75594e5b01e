"""Train the network on synthetic speech, and write it, its calibration samples and a recording into this folder.

Needs `pip install torch scipy espeakng-loader` (eSpeak NG, GPL-3.0); nothing else in the project does. The words are
those of Google's Speech Commands, the network is the DS-CNN of MLPerf Tiny, and so are its labels and their order. With
recordings of people in place of `_say`, this makes a network for people.
"""

import ctypes
import wave
from pathlib import Path

import espeakng_loader
import numpy as np
import onnx
import torch
from mfcc import COEFFICIENTS, FEATURE_BITS, RATE_HZ, of_samples
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from scipy.signal import resample_poly
from torch import Tensor, nn

HERE = Path(__file__).parent
SEED = 0
LABELS = ("down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes", "silence", "unknown")
WORDS = LABELS[:-2]
OTHERS = tuple(
    "house tree bird cat dog happy wow bed marvin sheila zero one two three four five six seven eight nine follow"  # noqa: SIM905
    " forward backward learn visual water table window paper music light button number people morning".split()
)
ACCENTS = ("en-us", "en-gb", "en-gb-x-rp", "en-gb-scotland", "en-029")
VOICES = (
    "m1",
    "m2",
    "m3",
    "m4",
    "m5",
    "m7",
    "f1",
    "f2",
    "f3",
    "f4",
    "Andy",
    "Mike",
    "linda",
    "steph",
    "adam",
    "Michael",
)
HELD_OUT_VOICES = ("m8", "f5", "Andrea", "Lee")  # of the test, and of the recording
FRAMES = 49
CHANNELS = 64
BLOCKS = 4
CLIPS, TEST_CLIPS = 12_000, 1_200
CALIBRATION_SAMPLES = 60
EPOCHS = 16
BATCH = 64
LEARNING_RATE = 3e-3
OPSET = 13
RECORDING = ("yes", "house", "stop", "left", "no")
_RATE, _PITCH, _SYNCHRONOUS, _UTF8 = 1, 3, 2, 1  # of speak_lib.h

_sound: list[NDArray[np.int16]] = []


def _take(samples: "ctypes._Pointer[ctypes.c_short]", count: int, _events: int) -> int:
    if count:
        _sound.append(np.ctypeslib.as_array(samples, (count,)).copy())
    return 0


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)(_take)


def _synthesizer() -> tuple[ctypes.CDLL, int]:
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    rate_hz = library.espeak_Initialize(_SYNCHRONOUS, 0, str(espeakng_loader.get_data_path()).encode(), 0)
    library.espeak_SetSynthCallback(_CALLBACK)
    return library, rate_hz


_ESPEAK, _ESPEAK_HZ = _synthesizer()


def _say(text: str, voice: str, words_per_minute: int, pitch: int) -> NDArray[np.float64]:
    """Return a spoken word with a peak of 1, at RATE_HZ."""
    _sound.clear()
    _ESPEAK.espeak_SetVoiceByName(voice.encode())
    _ESPEAK.espeak_SetParameter(_RATE, words_per_minute, 0)
    _ESPEAK.espeak_SetParameter(_PITCH, pitch, 0)
    data = text.encode() + b"\0"
    _ESPEAK.espeak_Synth(data, len(data), 0, 1, 0, _UTF8, None, None)
    sound = resample_poly(np.concatenate(_sound).astype(float), RATE_HZ, _ESPEAK_HZ)
    loud = np.flatnonzero(np.abs(sound) > np.abs(sound).max() / 50)
    word = sound[loud[0] : loud[-1] + 1]
    return np.asarray(word / np.abs(word).max())


def _noise(numbers: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Return noise between white and red, with a deviation of 1."""
    spectrum = np.fft.rfft(numbers.standard_normal(count)) / np.arange(1, count // 2 + 2) ** numbers.uniform(0.0, 1.0)
    sound = np.fft.irfft(spectrum, count)
    return np.asarray(sound / sound.std())


def _as_adc(sound: NDArray[np.float64]) -> NDArray[np.int16]:
    """Return samples of 12 bits, in the upper bits of 16."""
    return (np.clip(np.floor(sound * 2048 + 0.5), -2048, 2047) * 16).astype(np.int16)


def _clip(numbers: np.random.Generator, voices: tuple[str, ...]) -> tuple[NDArray[np.int16], int]:
    """Return a second of sound and its label: most are keywords, whole and anywhere in it, or of which half is cut."""
    label = int(numbers.integers(len(LABELS) + 2))
    sound = np.exp(numbers.uniform(np.log(2e-4), np.log(2e-2))) * _noise(numbers, RATE_HZ)
    if label == LABELS.index("silence"):
        return _as_adc(sound), label
    text = WORDS[label] if label < len(WORDS) else str(numbers.choice(OTHERS if numbers.random() < 0.6 else WORDS))  # noqa: PLR2004
    is_other = text in OTHERS
    voice = f"{numbers.choice(ACCENTS)}+{numbers.choice(voices)}"
    word = _say(text, voice, int(numbers.integers(120, 210)), int(numbers.integers(20, 80)))[:RATE_HZ]
    word = word * np.exp(numbers.uniform(np.log(0.05), np.log(0.9)))
    if label < len(WORDS) or is_other:
        at = int(numbers.integers(0, RATE_HZ - len(word) + 1))
        sound[at : at + len(word)] += word
    else:
        half = word[: len(word) // 2] if numbers.random() < 0.5 else word[len(word) // 2 :]  # noqa: PLR2004
        if len(half) and half[0] == word[0]:
            sound[-len(half) :] += half
        else:
            sound[: len(half)] += half
    return _as_adc(sound), min(label, LABELS.index("unknown"))


def clips(seed: int, count: int, voices: tuple[str, ...]) -> tuple[Tensor, Tensor]:
    """Return the features of clips, N x 1 x 49 x 10, and their labels."""
    numbers = np.random.default_rng(seed)
    made = [_clip(numbers, voices) for _ in range(count)]
    features = np.stack([of_samples(sound) for sound, _ in made]) / 2.0**FEATURE_BITS
    return torch.tensor(features, dtype=torch.float32)[:, None], torch.tensor([label for _, label in made])


class DsCnn(nn.Module):
    """The DS-CNN of MLPerf Tiny."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            nn.ZeroPad2d((1, 1, 4, 5)),
            nn.Conv2d(1, CHANNELS, (10, 4), 2),
            nn.BatchNorm2d(CHANNELS),
        ]
        layers.append(nn.ReLU())
        for _ in range(BLOCKS):
            for convolution in (
                nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, groups=CHANNELS),
                nn.Conv2d(CHANNELS, CHANNELS, 1),
            ):
                layers += [convolution, nn.BatchNorm2d(CHANNELS), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.dense = nn.Linear(CHANNELS, len(LABELS))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits."""
        return torch.as_tensor(self.dense(self.body(x).mean((2, 3))))

    def folded(self) -> list[tuple[Tensor, Tensor]]:
        """Return weights and biases of the convolutions, with their batch normalisation."""
        pairs = zip(self.body, list(self.body)[1:], strict=False)
        found = [each for each in pairs if isinstance(each[0], nn.Conv2d)]
        results = []
        for convolution, norm in found:
            scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            results.append(
                (
                    convolution.weight * scale[:, None, None, None],
                    (convolution.bias - norm.running_mean) * scale + norm.bias,
                )
            )
        return results


def train(network: DsCnn, x: Tensor, y: Tensor) -> None:
    """Train `network` in place."""
    optimizer = torch.optim.AdamW(network.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, EPOCHS * -(-len(x) // BATCH))
    for epoch in range(EPOCHS):
        total_loss = 0.0
        for batch in torch.randperm(len(x)).split(BATCH):
            loss = nn.functional.cross_entropy(network(x[batch]), y[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total_loss += loss.item() * len(batch)
        print(f"epoch {epoch + 1:2}: loss {total_loss / len(x):.4f}", flush=True)


def to_onnx(network: DsCnn) -> onnx.ModelProto:
    """Return `network` as ONNX, N x 1 x 49 x 10 to N x 12 probabilities."""
    nodes: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []

    def parameters(name: str, *values: Tensor) -> list[str]:
        names = [f"{name}.{kind}" for kind in ("weight", "bias")]
        constants.extend(
            numpy_helper.from_array(each.detach().numpy(), to) for each, to in zip(values, names, strict=True)
        )
        return names

    value = "mfcc"
    for number, (weight, bias) in enumerate(network.folded()):
        name = "conv" if number == 0 else f"{'depthwise' if number % 2 else 'pointwise'}{(number + 1) // 2}"
        window = (
            {"strides": [2, 2], "pads": [4, 1, 5, 1]}
            if number == 0
            else {"pads": [1, 1, 1, 1], "group": CHANNELS}
            if number % 2
            else {}
        )
        inputs = [value, *parameters(name, weight, bias)]
        nodes.append(helper.make_node("Conv", inputs, [name], name, kernel_shape=list(weight.shape[2:]), **window))
        value = f"relu_{name}"
        nodes.append(helper.make_node("Relu", [name], [value], value))
    nodes += [
        helper.make_node("GlobalAveragePool", [value], ["average"], "average"),
        helper.make_node("Flatten", ["average"], ["flatten"], "flatten"),
        helper.make_node(
            "Gemm",
            ["flatten", *parameters("dense", network.dense.weight, network.dense.bias)],
            ["logits"],
            "dense",
            transB=1,
        ),
        helper.make_node("Softmax", ["logits"], ["probabilities"], "softmax", axis=1),
    ]
    mfcc = helper.make_tensor_value_info("mfcc", TensorProto.FLOAT, ["batch", 1, FRAMES, COEFFICIENTS])
    probabilities = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", len(LABELS)])
    graph = helper.make_graph(nodes, "keywords", [mfcc], [probabilities], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def write_recording(path: Path) -> None:
    """Write words of held-out voices, a second each, behind a second of noise."""
    numbers = np.random.default_rng(SEED + 2)
    sound = 1e-3 * _noise(numbers, RATE_HZ * (len(RECORDING) + 1))
    for second, text in enumerate(RECORDING, 1):
        word = _say(text, f"en-us+{HELD_OUT_VOICES[second % len(HELD_OUT_VOICES)]}", 160, 50)[:RATE_HZ]
        at = second * RATE_HZ + (RATE_HZ - len(word)) // 2
        sound[at : at + len(word)] += 0.4 * word
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(_as_adc(sound).tobytes())


def main() -> None:
    """Train, and write keywords.onnx, calibration.npz and speech.wav."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    torch.manual_seed(SEED)
    write_recording(HERE / "speech.wav")
    x, y = clips(SEED, CLIPS, VOICES)
    test_x, test_y = clips(SEED + 1, TEST_CLIPS, HELD_OUT_VOICES)
    np.savez_compressed(HERE / "calibration.npz", x=x[:CALIBRATION_SAMPLES].numpy())
    network = DsCnn()
    train(network, x, y)
    network.eval()
    right = (network(test_x).argmax(1) == test_y).float().mean()
    print(f"accuracy with held-out voices: {right:.3f}")
    onnx.save(to_onnx(network), HERE / "keywords.onnx")


if __name__ == "__main__":
    main()
