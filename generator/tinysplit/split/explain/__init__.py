"""Why a problem has no split, and what other splits would bring."""
