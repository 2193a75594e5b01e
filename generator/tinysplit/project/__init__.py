"""The files of a generated folder."""
