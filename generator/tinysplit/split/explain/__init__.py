"""Why a problem is infeasible, and alternatives to a split."""
