"""The report of a generated folder as one HTML file: network, split, timeline, memory, accuracy and energy."""
