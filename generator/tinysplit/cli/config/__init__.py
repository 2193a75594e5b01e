"""The config file `tinysplit.toml`: its keys, how it is written, and how commands take their options from it."""
