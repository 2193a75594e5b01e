"""Arena layout of a board: tensor liveness, offsets, in-place outputs and fused rows."""
