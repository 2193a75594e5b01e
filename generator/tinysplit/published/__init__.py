"""What seeds 000 and 001 print, and the networks that they printed it for."""
