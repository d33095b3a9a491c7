"""Arguments that TRL's trainer passes to a reward in addition to the data (`GRPOTrainer._calculate_rewards` in TRL
1.13).
"""

import math
import types


def trainer_state(step):
    """Returns the fields of transformers' TrainerState that are meaningful here."""
    return types.SimpleNamespace(
        epoch=None, global_step=step, max_steps=0, num_train_epochs=0, log_history=[], best_metric=None, is_world_process_zero=True
    )


class Metrics:
    """Means of the values that rewards log with `log_metric(name, value)`. TRL also averages them over a step."""

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
            except (OverflowError, ValueError):  # The values are too large, or include infinities of both signs.
                continue
        return {name: mean for name, mean in means.items() if math.isfinite(mean)}


def log_extra(column, values):
    """In TRL, `log_extra(column, values)` adds a column to the completions table. Does nothing here, because there is no
    such table.
    """
