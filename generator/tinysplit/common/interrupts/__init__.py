"""What ends a command early, and what it must not leave behind."""
