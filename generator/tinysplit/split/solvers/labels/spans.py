"""Spans of labels: the time from the first action of a device to its last, for the periods `span` and `firmware`."""

import numpy as np

from tinysplit.split.solvers.labels.labels import Labels
from tinysplit.split.solvers.labels.resources import Resources
from tinysplit.split.solvers.labels.state_graph import Floats, Ints, Step

NOT_BEGUN = -1.0  # better than just begun: the span of such a device does not grow yet


class LabelSpans:
    """When devices began, and the longest span so far, for labels; for `firmware` also the slowest line."""

    def __init__(self, resources: Resources) -> None:
        self.clock = resources.clock

    def after(self, step: Step, move: Ints, labels: Labels) -> tuple[Floats, Floats]:
        """Return [label][device] when each began, infinite for not yet, and the longest span, one move on."""
        clock = labels.values[:, self.clock, None]
        begun = np.minimum(labels.begun, clock + step.begins_s[move])
        spans = clock + step.ends_s[move] - begun
        return begun, np.maximum.reduce([labels.longest_s, spans.max(axis=1), step.line_s[move]])

    def dominance_columns(self, labels: Labels) -> Floats:
        """Return [label][value] for dominance: with smaller values none of the spans will be longer."""
        clock = labels.values[:, self.clock, None]
        elapsed = np.where(np.isfinite(labels.begun), clock - labels.begun, NOT_BEGUN)
        return np.hstack([elapsed, labels.longest_s[:, None]])
