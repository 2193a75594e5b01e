"""Texts of others: quoted for what they go into, and printed as they are."""
