"""Training data: problems, preference pairs, labeled steps, teacher completions."""
