"""Folders and files that belong to this user alone."""
