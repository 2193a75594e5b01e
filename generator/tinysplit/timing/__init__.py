"""The one model of time: what boards and links do when, and the figures that follow: L, T, I, period, energy, power."""
