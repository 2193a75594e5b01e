"""The report of a board: pieces of code, measured on it and on its virtual board, and the rules of time they decide."""
