"""Frames, messages and tasks: what the host and a board say to each other."""
