"""The best distribution of every tensor of a network, among given ones, with a lower bound."""
