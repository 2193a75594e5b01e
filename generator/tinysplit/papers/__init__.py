"""What exists for publications: their tables, plots, networks and costs, and the solvers that they describe.

The core imports nothing of it. Its solvers and costs are found by name, as entry points of the distribution
(`common/extensions.py`).
"""
