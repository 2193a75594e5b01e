"""Channels that a quantized network can lack: which, and the network without them."""
