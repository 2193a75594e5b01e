"""The image of a board report: pieces of code whose cycles tell how a core and its memories work."""
