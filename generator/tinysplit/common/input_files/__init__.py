"""Reading of files from others: none takes more memory or time than docs/reference/security.md states."""
