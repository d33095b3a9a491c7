"""The course of a run: its stages, and the gate between their updates."""
