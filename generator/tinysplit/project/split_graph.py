"""The split in the language of Graphviz: a box for each board, an edge with its bytes for each cut."""

from collections.abc import Iterator
from json import dumps

from tinysplit.common.output_file import version_mark
from tinysplit.common.tables import NAME_WIDTH, shortened
from tinysplit.network.graph import Graph
from tinysplit.project.manifest import NETWORK_INPUT_NUMBER, Project, ProjectCut
from tinysplit.project.network_numbers import cut_number, layer_number

_COLORS = ("#dbe6fd", "#d3ebe8", "#e9defd", "#f8e2cf", "#f9dbe8", "#e1ebd2", "#e2e8f0", "#d2e9f0")
_CUT = 'color="#c2410c", fontcolor="#c2410c", penwidth=2'


def split_dot(project: Project, graph: Graph) -> str:
    """Return the slowest copy of the network as text."""
    return "\n".join(_SplitDrawing(project, graph).lines()) + "\n"


class _SplitDrawing:
    def __init__(self, project: Project, graph: Graph) -> None:
        self.project = project
        self.graph = graph
        self.copy = project.slowest
        inputs = ((NETWORK_INPUT_NUMBER, board) for board in self.copy.input_boards)
        places = ((layer_number(layer), layer.board) for layer in self.copy.layers)
        self.places = frozenset((*inputs, *places))  # number and board of each layer or part

    def lines(self) -> Iterator[str]:
        yield f"// {version_mark()}"
        yield "digraph split {"
        yield '  graph [newrank=true, fontname="sans-serif"];'
        yield '  node [shape=box, style="filled,rounded", fillcolor=white, fontname="sans-serif"];'
        yield '  edge [fontname="sans-serif"];'
        for board in self.copy.boards:
            yield f"  subgraph cluster_{board} {{"
            yield f"    label={_quoted(self.project.board(board).title)};"
            yield f'    style=filled; color="{_COLORS[(board - 1) % len(_COLORS)]}";'
            yield from (f"    {node}" for node in self._nodes(board))
            yield "  }"
        yield from (f"  {edge}" for edge in (*self._inner_edges(), *self._cuts()))
        yield "}"

    def _nodes(self, board: int) -> Iterator[str]:
        for number in sorted(number for number, device in self.places if device == board):
            name = f"{number} {shortened(self.graph.layers[number - 1].name, NAME_WIDTH)}" if number else "input"
            label = _quoted("\n".join((name, self._detail(number, board))))
            yield f"{_node(number, board)} [label={label}];"
        relayed = {cut_number(cut) for cut in self.copy.cuts if cut.from_board == board}
        for number in sorted(number for number in relayed if (number, board) not in self.places):
            yield f"{_node(number, board)} [shape=point];"

    def _detail(self, number: int, board: int) -> str:
        """Return the parts of a layer on a board, or the shape of its output."""
        layers = (layer for layer in self.copy.layers if (layer_number(layer), layer.board) == (number, board))
        return ", ".join(str(layer.part) for layer in layers if layer.part) or str(self.graph.shape(number - 1))

    def _readers(self, number: int) -> list[int]:
        return [reader for reader, inputs in enumerate(self.graph.predecessors, 1) if number - 1 in inputs]

    def _inner_edges(self) -> Iterator[str]:
        for number, board in sorted(self.places):
            for reader in self._readers(number):
                if (reader, board) in self.places:
                    yield f"{_node(number, board)} -> {_node(reader, board)};"

    def _cuts(self) -> Iterator[str]:
        for cut in self.copy.cuts:
            label = f'label="{cut.payload_bytes} bytes", {_CUT}'
            yield from (f"{_node(cut_number(cut), cut.from_board)} -> {end} [{label}];" for end in self._ends(cut))

    def _ends(self, cut: ProjectCut) -> list[str]:
        """Return the layers that read a tensor on the board that it comes to, or that board as its relay."""
        number, board = cut_number(cut), cut.to_board
        readers = [reader for reader in self._readers(number) if (reader, board) in self.places]
        return [_node(reader, board) for reader in readers or [number]]


def _quoted(text: str) -> str:
    return dumps(text, ensure_ascii=False)


def _node(number: int, board: int) -> str:
    return f"layer_{number}_board_{board}"
