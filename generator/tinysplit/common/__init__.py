"""Shared by all stages: errors, units, files, tables, progress."""
