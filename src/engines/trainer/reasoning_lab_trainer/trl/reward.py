"""The `reward-model` stage: trains a model with one output per text on preference pairs (Bradley and Terry 1952), using
TRL's RewardTrainer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..course.train_stage import train
from ..data.pairs import open_pairs
from ..models.heads import make_head
from .arguments import training_arguments
from .refused import find_trainer
from .row_tokens import fitting
from .rows_stage import batch_options, lay_out, longest_row, measured, table

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage

NAME = "reward-model"


def run_stage(context: Context, stage: Stage) -> None:
    """Trains a model made of the policy's layers and a single output. The policy is frozen. Raises Failure if the data
    is invalid.
    """
    trainer_class, config_class = find_trainer(NAME)
    pairs = open_pairs(context, stage.settings["pairs"], prompted=False)
    arguments = training_arguments(
        context, stage, config_class, **batch_options(context, stage), max_length=longest_row(context)
    )
    # Continue training an existing head, from an earlier stage or from the checkpoint.
    head = context.heads.get(NAME) or make_head(context.policy, NAME, context.recipe)
    context.heads[NAME] = head
    replies = ["chosen", "rejected"]
    held = pairs.held_out[: context.recipe["evaluate"]["problems"]]
    trainer = measured(trainer_class)(
        model=head,
        args=arguments,
        train_dataset=table(fitting(context, pairs.training, replies, pairs.name)),
        eval_dataset=table(fitting(context, held, replies, f"{pairs.name} (held-out)")) if held else None,
        processing_class=context.policy.tokenizer,
    )
    trainer.measure_every = context.recipe["evaluate"]["every"]
    lay_out(trainer, context, stage)
    train(context, stage, trainer)
