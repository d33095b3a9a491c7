"""Answers about the policy: completions and log-probabilities, beside training."""
