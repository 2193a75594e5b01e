"""What each board does with a split: its steps, its links and its arena."""
