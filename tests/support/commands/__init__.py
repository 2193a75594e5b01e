"""The command line as a user or a program meets it: started, interrupted, with hostile names, in a browser."""
