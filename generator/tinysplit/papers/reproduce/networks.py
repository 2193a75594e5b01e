"""The networks of Santamaria 2021, Table 2, built from their architecture with random weights.

VoxCeleb is missing: it is proprietary, and no architecture of the described kind has its published flash, MACC and cut.
"""

from tinysplit.network.graph import Graph
from tinysplit.network.layers import Activation, Shape
from tinysplit.network.network_builder import NetworkBuilder

NONE = Activation()
RELU6 = Activation(0.0, 6.0)


def mobilenet_v1(alpha: float, side: int = 128, n_classes: int = 1000) -> Graph:
    """MobileNet v1 for side x side x 3 pixels (arXiv 1704.04861, Table 1); Keras truncates channel counts."""
    net = NetworkBuilder(f"mobilenet_{alpha:.2f}", Shape(side, side, 3))
    net.conv(int(alpha * 32), (3, 3), 2, activation=RELU6)
    for channels, stride in (
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        *(((512, 1),) * 5),
        (1024, 2),
        (1024, 1),
    ):
        net.depthwise(stride=stride, activation=RELU6).conv(int(alpha * channels), activation=RELU6)
    return net.average_pool().dense(n_classes).softmax().graph()


def yamnet_256() -> Graph:
    """First six blocks of YAMNet for 96x64 patches, and a pool."""
    net = NetworkBuilder("yamnet_256", Shape(96, 64, 1)).conv(32, (3, 3), 2)
    for channels, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        net.depthwise(stride=stride).conv(channels)
    return net.depthwise(stride=2).average_pool().graph()


def kws_cnn() -> Graph:
    """Keyword spotting on 49x10 features: cnn-trad-fpool3 of arXiv 1711.07128 with batch normalization not folded.

    A 1x1 depthwise convolution is a batch normalization in inference: 2 weights a channel, 2 MACC an element.
    """
    net = NetworkBuilder("kws_cnn", Shape(49, 10, 1))
    for channels, stride in ((28, (1, 1)), (30, (2, 1))):
        net.conv(channels, (10, 4), stride, activation=NONE, padded=False).depthwise((1, 1))
    return net.dense(16).dense(128).dense(12).softmax().graph()


def kws_ds_cnn() -> Graph:
    """Keyword spotting on 49x10 features with depthwise separable convolutions, batch normalization folded."""
    net = NetworkBuilder("kws_ds_cnn", Shape(49, 10, 1)).conv(64, (10, 4), 2)
    for _ in range(7):
        net.depthwise().conv(64)
    return net.average_pool().dense(12).graph()


def tiny_cnn() -> Graph:
    """Three blocks of convolution and pool without padding and a classifier, for 28x28 digits."""
    net = NetworkBuilder("tiny_cnn", Shape(28, 28, 1))
    for channels in (16, 32, 48):
        net.conv(channels, (3, 3), padded=False).max_pool(2, 2)
    return net.dense(10).graph()
