"""Training data: problems, pairs, labeled steps, completions of a teacher."""
