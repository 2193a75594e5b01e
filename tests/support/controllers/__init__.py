"""Flash of virtual boards, and their controllers by themselves."""
