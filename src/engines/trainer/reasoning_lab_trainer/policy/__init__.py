"""Handles policy requests during training: completions and log-probabilities."""
