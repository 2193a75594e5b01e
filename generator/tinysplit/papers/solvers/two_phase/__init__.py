"""Clusterings of layers and their mappings in two phases: an analytical model, then the event timeline of the best."""
