"""Libraries of split networks: folders that they are made of, and processes that run them."""
