"""The page of `tinysplit explore --serve`, and its server."""
