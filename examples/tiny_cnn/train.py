"""Train networks on scikit-learn's handwritten digits, and write them and their samples into this folder.

`python train.py [NAME ...]` trains the networks with these names, by default all. Needs PyTorch and scikit-learn
(`pip install -e .[train]`); nothing else in the project does.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

HERE = Path(__file__).parent
SEED = 0
IMAGE_SIZE = 28
CLASSES = 10
NETWORKS = {"tiny_cnn": (16, 32, 48), "wide_cnn": (40, 64, 160)}  # channels of the convolutions
LEARNING_RATES = {"tiny_cnn": 2e-3, "wide_cnn": 7e-4}  # at 2e-3 some of the wide one's channels die
HELD_OUT_SAMPLES = 360
CALIBRATION_SAMPLES = 100
EPOCHS = 60
BATCH = 32
LARGEST_SHIFT = 1  # pixels by which training images are moved about
OPSET = 13


def digits() -> tuple[Tensor, Tensor]:
    """Return all 1797 digits as N x 1 x 28 x 28 of 0..1 in steps of 1/255, and their labels."""
    images, labels = load_digits(return_X_y=True)
    small = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    large = nn.functional.interpolate(small, size=(IMAGE_SIZE, IMAGE_SIZE), mode="bilinear", align_corners=False)
    return torch.round(large * 255) / 255, torch.tensor(labels)


def untrained(channels: Sequence[int]) -> nn.Sequential:
    """Return a network: blocks of 3x3 convolution, ReLU and 2x2 max-pool, then a dense layer."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip((1, *channels[:-1]), channels, strict=True):
        layers += [nn.Conv2d(inputs, outputs, 3), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels[-1], CLASSES))


def train(network: nn.Sequential, learning_rate: float, x: Tensor, y: Tensor) -> None:
    """Train `network` in place on images that are shifted at random in every batch."""
    optimizer = torch.optim.AdamW(network.parameters(), learning_rate)
    steps = EPOCHS * -(-len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for epoch in range(EPOCHS):
        total_loss = 0.0
        for batch in torch.randperm(len(x)).split(BATCH):
            down, right = torch.randint(-LARGEST_SHIFT, LARGEST_SHIFT + 1, (2,)).tolist()
            loss = nn.functional.cross_entropy(network(x[batch].roll((down, right), (2, 3))), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total_loss += loss.item() * len(batch)
        print(f"epoch {epoch + 1:2}: loss {total_loss / len(x):.4f}")


def to_onnx(name: str, network: nn.Sequential) -> onnx.ModelProto:
    """Return `network` as ONNX with a symbolic batch and names that a person can read."""
    nodes: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []

    def parameters(name: str, layer: nn.Module) -> list[str]:
        for kind, values in layer.state_dict().items():
            constants.append(numpy_helper.from_array(values.numpy(), f"{name}.{kind}"))
        return [f"{name}.weight", f"{name}.bias"]

    value = "image"
    for number, convolution in enumerate((layer for layer in network if isinstance(layer, nn.Conv2d)), start=1):
        conv, relu, pool = (f"{kind}{number}" for kind in ("conv", "relu", "pool"))
        nodes += [
            helper.make_node("Conv", [value, *parameters(conv, convolution)], [conv], conv, kernel_shape=[3, 3]),
            helper.make_node("Relu", [conv], [relu], relu),
            helper.make_node("MaxPool", [relu], [pool], pool, kernel_shape=[2, 2], strides=[2, 2]),
        ]
        value = pool
    nodes += [
        helper.make_node("Flatten", [value], ["flatten"], "flatten"),
        helper.make_node("Gemm", ["flatten", *parameters("dense", network[-1])], ["logits"], "dense", transB=1),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, IMAGE_SIZE, IMAGE_SIZE])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])
    graph = helper.make_graph(nodes, name, [image], [logits], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def as_samples(x: Tensor) -> NDArray[np.float32]:
    """Return `x` as the float32 array that the .npz files hold."""
    return np.asarray(x.numpy(), dtype=np.float32)


def main() -> None:
    """Train and write the networks, calibration.npz and samples.npz."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    x, y = digits()
    train_rows, held_out_rows = train_test_split(
        np.arange(len(x)), test_size=HELD_OUT_SAMPLES, stratify=y.numpy(), random_state=SEED
    )
    for name in sys.argv[1:] or NETWORKS:
        torch.manual_seed(SEED)
        network = untrained(NETWORKS[name])
        train(network, LEARNING_RATES[name], x[train_rows], y[train_rows])
        onnx.save(to_onnx(name, network), HERE / f"{name}.onnx")
    np.savez_compressed(HERE / "calibration.npz", x=as_samples(x[train_rows[:CALIBRATION_SAMPLES]]))
    np.savez_compressed(HERE / "samples.npz", x=as_samples(x[held_out_rows]), y=y[held_out_rows].numpy())


if __name__ == "__main__":
    main()
