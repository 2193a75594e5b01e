"""Generated folders of the example, built and measured once a run."""
