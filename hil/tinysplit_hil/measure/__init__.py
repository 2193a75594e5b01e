"""Samples on the boards of a rig: outputs, L, T and I, single or in a stream, and the timeline of inferences."""
