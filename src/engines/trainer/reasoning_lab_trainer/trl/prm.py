"""The `process-reward-model` stage: predicts which steps of a solution are correct (Uesato et al. 2022, Lightman et al.
2023). Trains on labeled steps with TRL's PRMTrainer.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..course.train_stage import train
from ..data.steps import open_steps
from ..models.heads import make_head
from .arguments import training_arguments
from .refused import find_trainer
from .row_tokens import encoded
from .rows_stage import Measured, batch_options, lay_out, longest_row, table

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage

NAME = "process-reward-model"


class Counted(Measured):
    """Counts tokens like the other TRL trainers. PRMTrainer does not count them."""

    _total_train_tokens = 0

    def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if model.training:
            tokens = self.accelerator.gather(inputs["attention_mask"].sum())  # type: ignore[attr-defined]
            self._total_train_tokens += int(tokens.sum())
        return super().compute_loss(model, inputs, *args, **kwargs)  # type: ignore[misc]

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        if "loss" in logs:
            logs["num_tokens"] = self._total_train_tokens
        super().log(logs, *args, **kwargs)  # type: ignore[misc]


@functools.cache
def counted(base: type) -> type:
    """Returns a TRL trainer class that runs evaluations and counts its tokens."""
    return type(f"Lab{base.__name__}", (Counted, base), {})


def run_stage(context: Context, stage: Stage) -> None:
    """Trains a model made of the policy's layers and a two-class output per token. The policy is frozen."""
    trainer_class, config_class = find_trainer(NAME)
    labels = stage.settings["labels"]
    steps = open_steps(context, labels)
    separator = labels["separator"]
    for rows in (steps.training, steps.held_out):
        texts = [row["prompt"] + separator.join(row["completions"]) + separator for row in rows]
        lengths = map(len, encoded(context.policy, texts, f"Steps in {steps.name}"))
        cut = sum(length > longest_row(context) for length in lengths)
        if cut > 0:
            context.alert(
                "warning",
                f"{steps.name}: {cut} of {len(rows)} solutions are longer than {longest_row(context)} tokens."
                " Labels beyond that limit are not used for training.",
            )
    arguments = training_arguments(
        context,
        stage,
        config_class,
        **batch_options(context, stage),
        max_length=longest_row(context),
        step_separator=separator,
    )
    head = context.heads.get(NAME) or make_head(context.policy, NAME, context.recipe)
    context.heads[NAME] = head
    held = steps.held_out[: context.recipe["evaluate"]["problems"]]
    trainer = counted(trainer_class)(
        model=head,
        args=arguments,
        train_dataset=table(steps.training),
        eval_dataset=table(held) if held else None,
        processing_class=context.policy.tokenizer,
    )
    trainer.measure_every = context.recipe["evaluate"]["every"]
    lay_out(trainer, context, stage)
    train(context, stage, trainer)
