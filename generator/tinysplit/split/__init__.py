"""The splitters: each is a function from `Problem` to `Split`."""
