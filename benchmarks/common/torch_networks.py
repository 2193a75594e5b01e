"""Architectures in PyTorch that people bring to microcontrollers, small, untrained: what its exporters make of them.

They complete those of a folder of files: how an exporter writes a class token, a causal mask, windows of tokens, a
focus layer, recurrent states or a normalization decides whether a network can be imported.
"""

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as f

Build = Callable[[], nn.Module]
CLASSES = 10
SAMPLES = 24
EXPORTERS = {  # `ts` traces (TorchScript), `dynamo` exports the graph
    "ts": {"dynamo": False, "opset_version": 14},
    "dynamo": {"dynamo": True, "opset_version": 18, "external_data": False},
}


@dataclass(frozen=True)
class TorchNetwork:
    """A network: its name, what builds it, and the shapes of its inputs, without the batch."""

    name: str
    build: Build
    shapes: Sequence[tuple[int, ...]]


NETWORKS: list[TorchNetwork] = []


def network(*shapes: tuple[int, ...]) -> Callable[[Build], Build]:
    """Declare a network by its inputs."""

    def declare(build: Build) -> Build:
        NETWORKS.append(TorchNetwork(build.__name__, build, shapes))
        return build

    return declare


def initialized(network: TorchNetwork) -> nn.Module:
    """Return the network for inference, with random weights and statistics of normalizations, always the same."""
    torch.manual_seed(0)
    model = network.build().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            module.running_mean.normal_(0.0, 0.2)
            module.running_var.uniform_(0.5, 1.5)
            module.weight.data.uniform_(0.7, 1.3)
            module.bias.data.normal_(0.0, 0.1)
    return model


def exported(folder: Path) -> Iterator[tuple[Path, dict[str, NDArray[np.float32]], str]]:
    """Export each network with both exporters; yield its file, samples by input, and why it could not be exported."""
    logging.disable(logging.WARNING)
    for each in NETWORKS:
        model, rng = initialized(each), np.random.default_rng(0)
        names = ["x", *(f"x{number}" for number in range(2, len(each.shapes) + 1))]
        samples = {
            name: rng.normal(size=(SAMPLES, *shape)).astype(np.float32)
            for name, shape in zip(names, each.shapes, strict=True)
        }
        first = tuple(torch.from_numpy(sample[:1]) for sample in samples.values())
        for exporter, settings in EXPORTERS.items():
            path, reason = folder / f"{each.name}_{exporter}.onnx", ""
            try:
                with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
                    torch.onnx.export(model, first, path, input_names=names, verbose=False, **settings)
            except Exception as error:  # noqa: BLE001 - both exporters' errors derive from nothing more specific
                reason = str(error).partition("\n")[0]
            yield path, samples, reason


class Computed(nn.Module):
    """Modules by their names, and the function of them and the inputs that they compute."""

    def __init__(self, function: Callable[..., Tensor | tuple[Tensor, ...]], **modules: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(modules)
        self.function = function

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Compute the outputs."""
        return self.function(*inputs, **self.parts)


def conv(inputs: int, outputs: int, kernel: int = 3, stride: int = 1, **settings: int) -> nn.Module:
    """Return a convolution with normalization and ReLU."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False, **settings)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())


def classifier(channels: int) -> nn.Module:
    """Return what makes classes of a map."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES))


def attended(x: Tensor, projection: nn.Module, mixed: nn.Module, heads: int, *, is_causal: bool = False) -> Tensor:
    """Return what the heads of an attention make of tokens (batch x tokens x features)."""
    batch, tokens, features = x.shape
    parts = projection(x).reshape(batch, tokens, 3, heads, features // heads).permute(2, 0, 3, 1, 4)
    scores = parts[0] @ parts[1].transpose(-2, -1) * (features // heads) ** -0.5
    if is_causal:
        later = torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), 1)
        scores = scores.masked_fill(later, float("-inf"))
    found: Tensor = mixed((scores.softmax(-1) @ parts[2]).transpose(1, 2).reshape(batch, tokens, features))
    return found


def transformer(features: int, heads: int, *, is_causal: bool = False) -> nn.Module:
    """Return a block of a transformer."""

    def computed(x: Tensor, **own: nn.Module) -> Tensor:
        x = x + attended(own["before"](x), own["projection"], own["mixed"], heads, is_causal=is_causal)
        widened: Tensor = x + own["narrow"](f.gelu(own["wide"](own["between"](x))))
        return widened

    return Computed(
        computed,
        before=nn.LayerNorm(features),
        projection=nn.Linear(features, 3 * features),
        mixed=nn.Linear(features, features),
        between=nn.LayerNorm(features),
        wide=nn.Linear(features, 2 * features),
        narrow=nn.Linear(2 * features, features),
    )


@network((3, 32, 32))
def vit_class_token() -> nn.Module:
    """Return a vision transformer that classifies by a token of its own."""

    class Tokens(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 32, 8, 8)
            self.token = nn.Parameter(torch.randn(1, 1, 32))
            self.places = nn.Parameter(torch.randn(1, 17, 32))

        def forward(self, x: Tensor) -> Tensor:
            patches = self.patches(x).flatten(2).transpose(1, 2)
            return torch.cat([self.token.expand(len(x), -1, -1), patches], 1) + self.places

    first = Computed(lambda x, norm, classes: classes(norm(x)[:, 0]), norm=nn.LayerNorm(32), classes=nn.Linear(32, 10))
    return nn.Sequential(Tokens(), transformer(32, 2), transformer(32, 2), first)


@network((16, 32))
def gpt_causal() -> nn.Module:
    """Return a transformer in which no token sees a later one."""
    blocks = (transformer(32, 2, is_causal=True) for _ in range(2))
    return nn.Sequential(*blocks, nn.LayerNorm(32), nn.Linear(32, 12))


@network((3, 32, 32))
def shifted_windows() -> nn.Module:
    """Return attention inside of shifted windows of tokens."""

    def computed(x: Tensor, patches: nn.Module, attention: nn.Module, classes: nn.Module) -> Tensor:
        tokens = torch.roll(patches(x).permute(0, 2, 3, 1), (-2, -2), (1, 2))
        windows = tokens.reshape(-1, 2, 4, 2, 4, 16).permute(0, 1, 3, 2, 4, 5).reshape(4, 16, 16)
        windows = attention(windows).reshape(-1, 2, 2, 4, 4, 16).permute(0, 1, 3, 2, 4, 5)
        found: Tensor = classes((tokens + windows.reshape(tokens.shape)).mean((1, 2)))
        return found

    return Computed(
        computed, patches=nn.Conv2d(3, 16, 4, 4), attention=transformer(16, 2), classes=nn.Linear(16, CLASSES)
    )


@network((40, 32))
def conformer() -> nn.Module:
    """Return convolutions along time, with a gate, before attention."""

    def computed(x: Tensor, **own: nn.Module) -> Tensor:
        gated = f.glu(own["wide"](own["norm"](x).transpose(1, 2)), 1)
        x = x + own["mixed"](f.silu(own["scaled"](own["along"](gated)))).transpose(1, 2)
        found: Tensor = own["classes"](own["block"](x).mean(1))
        return found

    return Computed(
        computed,
        norm=nn.LayerNorm(32),
        wide=nn.Conv1d(32, 64, 1),
        along=nn.Conv1d(32, 32, 7, padding=3, groups=32),
        scaled=nn.BatchNorm1d(32),
        mixed=nn.Conv1d(32, 32, 1),
        block=transformer(32, 2),
        classes=nn.Linear(32, 6),
    )


@network((32, 20))
def two_layers_of_gru() -> nn.Module:
    """Return two layers of GRU in both directions, of which the mean counts."""
    gru = nn.GRU(20, 8, num_layers=2, batch_first=True, bidirectional=True)
    return Computed(lambda x, gru, classes: classes(gru(x)[0].mean(1)), gru=gru, classes=nn.Linear(16, 5))


@network((1, 20), (1, 1, 16), (1, 1, 16))
def lstm_with_states() -> nn.Module:
    """Return one step of an LSTM, whose states are inputs and outputs."""

    def computed(x: Tensor, hidden: Tensor, cell: Tensor, lstm: nn.Module, classes: nn.Module) -> tuple[Tensor, ...]:
        found, states = lstm(x, (hidden[0], cell[0]))
        return classes(found), *states

    return Computed(computed, lstm=nn.LSTM(20, 16), classes=nn.Linear(16, 2))


@network((1, 64))
def tcn_weight_norm() -> nn.Module:
    """Return dilated convolutions that see the past alone, with normalized weights."""

    def block(inputs: int, dilation: int) -> nn.Module:
        causal = nn.utils.parametrizations.weight_norm(nn.Conv1d(inputs, 8, 3, padding=2 * dilation, dilation=dilation))
        return Computed(
            lambda x, causal, beside: f.relu(f.relu(causal(x)[:, :, : -2 * dilation]) + beside(x)),
            causal=causal,
            beside=nn.Conv1d(inputs, 8, 1),
        )

    last = Computed(lambda x, classes: classes(x[:, :, -1]), classes=nn.Linear(8, 4))
    return nn.Sequential(block(1, 1), block(8, 2), block(8, 4), last)


@network((1, 400))
def log_mel_front_end() -> nn.Module:
    """Return the spectrum of a signal by convolutions, its logarithm, and a classifier."""

    def computed(x: Tensor, **own: nn.Module) -> Tensor:
        power = own["real"](x) ** 2 + own["imaginary"](x) ** 2
        found: Tensor = own["classes"](torch.log(own["bands"](power.transpose(1, 2)) + 1e-3).flatten(1))
        return found

    bands = nn.Linear(33, 16, bias=False)
    bands.weight.data.abs_()
    real, imaginary = (nn.Conv1d(1, 33, 64, 32, bias=False) for _ in range(2))
    return Computed(computed, real=real, imaginary=imaginary, bands=bands, classes=nn.Linear(16 * 11, 4))


@network((3, 64, 64))
def yolo_focus_sppf() -> nn.Module:
    """Return a detector whose first layer takes every second pixel, and pools of growing windows."""

    def focus(x: Tensor, first: nn.Module) -> Tensor:
        rows = x[..., ::2, :], x[..., 1::2, :]
        found: Tensor = first(torch.cat([each[..., start::2] for start in (0, 1) for each in rows], 1))
        return found

    def pooled(x: Tensor, before: nn.Module, behind: nn.Module) -> Tensor:
        maps = [before(x)]
        for _ in range(3):
            maps.append(f.max_pool2d(maps[-1], 5, 1, 2))
        found: Tensor = behind(torch.cat(maps, 1))
        return found

    pyramid = Computed(pooled, before=conv(16, 8, 1), behind=conv(32, 16, 1))
    return nn.Sequential(Computed(focus, first=conv(12, 8)), conv(8, 16, stride=2), pyramid, nn.Conv2d(16, 18, 1))


@network((3, 32, 32))
def pyramid_with_three_outputs() -> nn.Module:
    """Return maps of three sizes that are added from the smallest up, each with an output."""

    def computed(x: Tensor, **own: nn.Module) -> tuple[Tensor, ...]:
        large = own["large"](x)
        middle = own["middle"](large)
        top = own["top"](own["small"](middle))
        second = own["across"](middle) + f.interpolate(top, size=middle.shape[2:], mode="nearest")
        first = large + f.interpolate(second, scale_factor=2)
        return own["head"](first), own["head"](second), own["head"](top)

    return Computed(
        computed,
        large=conv(3, 8, stride=2),
        middle=conv(8, 16, stride=2),
        small=conv(16, 32, stride=2),
        top=nn.Conv2d(32, 8, 1),
        across=nn.Conv2d(16, 8, 1),
        head=nn.Conv2d(8, 4, 3, 1, 1),
    )


@network((3, 24, 24), (3, 24, 24))
def siamese() -> nn.Module:
    """Return how far two images are from each other, by one network for both."""
    body = nn.Sequential(conv(3, 8, stride=2), classifier(8))
    return Computed(
        lambda a, b, body, last: torch.sigmoid(last(torch.abs(body(a) - body(b)))),
        body=body,
        last=nn.Linear(CLASSES, 1),
    )


@network((3, 24, 24), (6,))
def feature_modulation() -> nn.Module:
    """Return a network whose channels a second input scales and shifts."""

    def computed(x: Tensor, z: Tensor, body: nn.Module, factors: nn.Module, head: nn.Module) -> Tensor:
        scale, shift = (each[..., None, None] for each in factors(z).chunk(2, 1))
        found: Tensor = head(f.relu(body(x) * scale + shift))
        return found

    return Computed(computed, body=conv(3, 8, stride=2), factors=nn.Linear(6, 16), head=classifier(8))


@network((3, 32, 32))
def selective_kernels() -> nn.Module:
    """Return two kernels that a softmax weighs."""

    def computed(x: Tensor, **own: nn.Module) -> Tensor:
        small, large = own["small"](x), own["large"](x)
        squeezed = f.relu(own["squeeze"]((small + large).mean((2, 3))))
        weights = torch.softmax(torch.stack([own["first"](squeezed), own["second"](squeezed)], 1), 1)[..., None, None]
        found: Tensor = own["head"](small * weights[:, 0] + large * weights[:, 1])
        return found

    return nn.Sequential(
        conv(3, 8, stride=2),
        Computed(
            computed,
            small=conv(8, 8),
            large=conv(8, 8, 5),
            squeeze=nn.Linear(8, 8),
            first=nn.Linear(8, 8),
            second=nn.Linear(8, 8),
            head=classifier(8),
        ),
    )


@network((3, 32, 32))
def grouped_and_shuffled() -> nn.Module:
    """Return a block of grouped convolutions whose channels are shuffled in between."""

    def computed(x: Tensor, first: nn.Module, depthwise: nn.Module, second: nn.Module) -> Tensor:
        batch, channels, height, width = x.shape
        shuffled = first(x).reshape(batch, 3, channels // 3, height, width).transpose(1, 2).reshape(x.shape)
        return f.relu(x + second(depthwise(shuffled)))

    def block() -> nn.Module:
        make = partial(nn.Conv2d, 24, 24)
        return Computed(
            computed, first=conv(24, 24, 1, groups=3), depthwise=make(3, 1, 1, groups=24), second=make(1, groups=3)
        )

    return nn.Sequential(conv(3, 24, stride=2), block(), block(), classifier(24))


@network((3, 32, 32))
def maxout() -> nn.Module:
    """Return the larger one of two maps, and a slope for each channel."""
    return Computed(
        lambda x, body, slopes, head: head(slopes(torch.maximum(*body(x).chunk(2, 1)))),
        body=nn.Conv2d(3, 16, 3, 2, 1),
        slopes=nn.PReLU(8),
        head=classifier(8),
    )


@network((3, 32, 32))
def coordinates() -> nn.Module:
    """Return a convolution that reads where each pixel is."""
    places = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 32), torch.linspace(-1, 1, 32), indexing="ij"))[None]
    return Computed(
        lambda x, body: body(torch.cat([x, places.expand(len(x), -1, -1, -1)], 1)),
        body=nn.Sequential(conv(5, 8, stride=2), classifier(8)),
    )


@network((12, 8))
def graph_convolution() -> nn.Module:
    """Return layers that mix the nodes of a fixed graph."""
    mixing = torch.rand(12, 12) / 6
    return Computed(
        lambda x, first, second: second((mixing @ f.relu(first(mixing @ x))).sum(1)),
        first=nn.Linear(8, 16),
        second=nn.Linear(16, 4),
    )


@network((3, 24, 24))
def style_transfer() -> nn.Module:
    """Return an image in another style: reflected borders, normalization of each map, upsampling."""
    return nn.Sequential(
        nn.ReflectionPad2d(1),
        nn.Conv2d(3, 8, 3),
        nn.InstanceNorm2d(8, affine=True),
        nn.ReLU(),
        nn.Upsample(scale_factor=2),
        nn.Conv2d(8, 3, 3, padding=1),
        nn.Tanh(),
    )


@network((16,))
def generator() -> nn.Module:
    """Return an image from a vector, by transposed convolutions."""
    return nn.Sequential(
        nn.Linear(16, 256),
        nn.Unflatten(1, (16, 4, 4)),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.ConvTranspose2d(16, 8, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 1, 4, 2, 1),
        nn.Tanh(),
    )


@network((16,))
def tabular() -> nn.Module:
    """Return fully connected layers with smooth functions."""
    functions = (nn.ELU(), nn.SELU(), nn.Softplus(), nn.Mish())
    layers = [part for function in functions for part in (nn.Linear(16, 16), function)]
    return nn.Sequential(nn.BatchNorm1d(16), *layers, nn.Linear(16, 3), nn.Softmax(1))
