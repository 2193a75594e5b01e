"""Numbers of layers in the whole network, where those of a manifest may be parts of them."""

from tinysplit.project.manifest import ProjectCut, ProjectLayer


def layer_number(layer: ProjectLayer) -> int:
    """Return the number of a layer in the network, of which it may be a part."""
    return layer.part.layer if layer.part else layer.number


def cut_number(cut: ProjectCut) -> int:
    """Return the number of the layer in the network whose output crosses, 0 for the network's input."""
    return cut.part.layer if cut.part else cut.after_layer
