"""A run's stages, and the gate between their updates."""
