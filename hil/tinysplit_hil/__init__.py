"""Hardware in the loop: the client of the boards, virtual boards, and measurements on both."""
