"""What TRL's trainer hands to a reward besides the data (`GRPOTrainer._calculate_rewards` of TRL 1.13)."""

import math
import types


def trainer_state(step):
    """The fields of transformers' TrainerState that mean something here."""
    return types.SimpleNamespace(
        epoch=None, global_step=step, max_steps=0, num_train_epochs=0, log_history=[], best_metric=None, is_world_process_zero=True
    )


class Metrics:
    """Means of what the reward logs by `log_metric(name, value)`; TRL averages them over a step as well."""

    def __init__(self):
        self._values = {}

    def log(self, name, value):
        number = float(value)
        self._values.setdefault(str(name), []).append(number)

    def means(self):
        means = {}
        for name, values in self._values.items():
            try:
                means[name] = math.fsum(values) / len(values)
            except (OverflowError, ValueError):  # numbers too large, or both infinities
                continue
        return {name: mean for name, mean in means.items() if math.isfinite(mean)}


def log_extra(column, values):
    """`log_extra(column, values)` adds a column to TRL's table of completions; there is no such table here."""
