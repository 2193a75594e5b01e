"""Where boards are: rig files, probes and ports, virtual boards; and how they are opened."""
