"""Policy requests during training: completions and log-probabilities."""
