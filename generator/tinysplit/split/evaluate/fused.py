"""The times of layers as an assignment runs them: fused ones leave out the rows that nobody reads."""

from dataclasses import replace

from tinysplit.split.problem import Assignment, FusedLayers, Problem


def skips_rows(fused: FusedLayers, assignment: Assignment) -> bool:
    """Return whether the producer of a pair takes less time because both are on one device."""
    producer, consumer = fused.layers
    return bool(fused.producer_seconds) and assignment[producer] == assignment[consumer]


def as_run(problem: Problem, assignment: Assignment) -> Problem:
    """Return `problem` with the times that the layers take in `assignment`."""
    layers = list(problem.layers)
    for fused in problem.fused:
        if skips_rows(fused, assignment):
            layers[fused.producer] = replace(layers[fused.producer], seconds=fused.producer_seconds)
    return replace(problem, layers=tuple(layers)) if tuple(layers) != problem.layers else problem
