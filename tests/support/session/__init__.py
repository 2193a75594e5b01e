"""What holds for a whole run of the tests: profiles, what is built once, the clock, the choice of tests."""
