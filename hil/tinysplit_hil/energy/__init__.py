"""The energy of an inference, by the account that virtual boards keep of their cycles."""
