"""The maximum cycle ratio of a timed event graph: the period of a system that starts everything as early as it can.

The ratio of a cycle is the sum of its seconds over the sum of its tokens. Lawler's method, from below: with a ratio r,
edges cost seconds - r * tokens; a cycle of positive cost has a larger ratio, which is the next r. Without one, r is the
maximum. Every r is the ratio of some cycle, so the result is exact.
"""

from collections.abc import Sequence

from tinysplit.split.evaluate.event_graph import Edge

ROUNDING = 1e-12  # relative: smaller differences are rounding errors of sums


def maximum_cycle_ratio(n_nodes: int, edges: Sequence[Edge]) -> float:
    """Return the maximum ratio over all cycles in seconds; every cycle has a token.

    `edges` are sorted so that those without tokens come in topological order.
    """
    ratio = max((edge.seconds for edge in edges if edge.source == edge.target), default=0.0)
    while (found := _cycle_above(n_nodes, edges, ratio)) > ratio * (1 + ROUNDING):
        ratio = found
    return ratio


def _cycle_above(n_nodes: int, edges: Sequence[Edge], ratio: float) -> float:
    """Return the ratio of a cycle above `ratio`, or `ratio` if there is none (Bellman and Ford)."""
    longest = [0.0] * n_nodes
    via: list[Edge | None] = [None] * n_nodes
    slack = ROUNDING * (ratio + max((edge.seconds for edge in edges), default=0.0))
    for _ in range(n_nodes + 1):
        is_changed = False
        for edge in edges:
            source, target, seconds, tokens = edge
            length = longest[source] + seconds - ratio * tokens
            if length > longest[target] + slack:
                longest[target] = length
                via[target] = edge
                is_changed = True
        if not is_changed:
            return ratio
        found = _best_cycle(via)
        if found > ratio * (1 + ROUNDING):
            return found
    return ratio


def _best_cycle(via: Sequence[Edge | None]) -> float:
    """Return the largest ratio of the cycles that the edges `via` (to each node) form, 0 if there is none."""
    seen = [-1] * len(via)
    best = 0.0
    for start in range(len(via)):
        node = start
        while seen[node] < 0 and (edge := via[node]) is not None:
            seen[node] = start
            node = edge.source
        if seen[node] == start and via[node] is not None:
            best = max(best, _ratio(via, node))
    return best


def _ratio(via: Sequence[Edge | None], start: int) -> float:
    seconds, tokens, node = 0.0, 0, start
    while (edge := via[node]) is not None:
        seconds, tokens, node = seconds + edge.seconds, tokens + edge.tokens, edge.source
        if node == start:
            break
    return seconds / tokens
