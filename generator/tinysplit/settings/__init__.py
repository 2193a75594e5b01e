"""The choices of users: each is declared once, and has its name, help and limits on every face from there."""
