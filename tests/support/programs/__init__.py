"""C and assembly: programs for virtual boards, parts of the firmware, and what they are compared with."""
