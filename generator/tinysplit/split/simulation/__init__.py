"""The message-level simulation of a split: boards, links and the host, event by event."""
