"""The `dpo` stage: direct preference optimization (Rafailov et al. 2023) with TRL's DPOTrainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..course.train_stage import train
from ..data.pairs import open_pairs
from .arguments import training_arguments
from .references import reference_policy, restore_adapters, saved_reference
from .refused import find_trainer
from .row_tokens import fitting
from .rows_stage import batch_options, lay_out, longest_row, measured, table

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage


def run_stage(context: Context, stage: Stage) -> None:
    """Trains on the stage's pairs. The reference is the policy at the start of the stage."""
    trainer_class, config_class = find_trainer("dpo")
    pairs = open_pairs(context, stage.settings["pairs"], prompted=True)
    arguments = training_arguments(
        context,
        stage,
        config_class,
        **batch_options(context, stage),
        beta=stage.settings["beta"],
        max_length=longest_row(context),
    )
    replies = ["chosen", "rejected"]
    training = fitting(context, pairs.training, replies, pairs.name)
    held = pairs.held_out[: context.recipe["evaluate"]["problems"]]
    saved = saved_reference(context, stage)
    trainer = measured(trainer_class)(
        model=context.policy.model,
        ref_model=reference_policy(context, saved),
        args=arguments,
        train_dataset=table(training),
        eval_dataset=table(fitting(context, held, replies, f"{pairs.name} (held-out)")) if held else None,
        processing_class=context.policy.tokenizer,
    )
    trainer.measure_every = context.recipe["evaluate"]["every"]
    lay_out(trainer, context, stage)
    restore_adapters(context, saved)
    try:
        train(context, stage, trainer)
    finally:
        context.policy.forget_reference()
