"""Networks written down from their published architecture, without weights that mean anything."""

from network_builder import NetworkBuilder
from tinysplit.graph import Graph
from tinysplit.layers import Activation, Shape

RELU6 = Activation(0.0, 6.0)


def mobilenet_v1(alpha: float) -> Graph:
    """MobileNet v1 for 128x128x3 and 1000 classes (arXiv 1704.04861, Table 1); Keras truncates channel counts."""
    net = NetworkBuilder(f"mobilenet_{alpha:.2f}", Shape(128, 128, 3))
    net.conv(int(alpha * 32), (3, 3), 2, activation=RELU6)
    for channels, stride in (
        *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
        *(((512, 1),) * 5),
        *((1024, 2), (1024, 1)),
    ):
        net.depthwise(stride=stride, activation=RELU6).conv(int(alpha * channels), activation=RELU6)
    return net.average_pool().dense(1000).softmax().graph()


def yamnet_256() -> Graph:
    """First six blocks of YAMNet for 96x64 patches, and a pool (seed 000, Table 2)."""
    net = NetworkBuilder("yamnet_256", Shape(96, 64, 1)).conv(32, (3, 3), 2)
    for channels, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        net.depthwise(stride=stride).conv(channels)
    return net.depthwise(stride=2).average_pool().graph()


def tiny_cnn() -> Graph:
    """Three blocks of convolution and pooling and a classifier, for 28x28 digits."""
    net = NetworkBuilder("tiny_cnn", Shape(28, 28, 1))
    for channels in (8, 16, 24):
        net.conv(channels, (3, 3)).max_pool(2, 2)
    return net.dense(10).graph()
