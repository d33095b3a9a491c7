"""The `dpo` stage: preference optimization on pairs, with TRL's DPOTrainer, or with trainers for reference-free or
unpaired losses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..course.train_stage import train
from ..data.pairs import open_pairs
from ..failure import Failure
from .arguments import training_arguments
from .options import place_of
from .references import reference_policy, restore_adapters, saved_reference
from .refused import find_trainer, imported
from .row_tokens import fitting
from .rows_stage import batch_options, lay_out, longest_row, measured, table

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage

REPLIES = ["chosen", "rejected"]

OTHERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    # SimPO alone, without the likelihood term of CPO (Meng et al. 2024, arXiv:2405.14734).
    "simpo": ("trl.experimental.cpo", "CPO", {"loss_type": "simpo", "cpo_alpha": 0.0}),
    "orpo": ("trl.experimental.orpo", "ORPO", {}),
    "kto": ("trl", "KTO", {}),
}
"""Losses with their own trainer: module, name and options. The others are values of DPOTrainer's `loss_type`."""


def run_stage(context: Context, stage: Stage) -> None:
    """Trains on the stage's pairs. The reference, if the loss has one, is the policy at the start of the stage."""
    loss = stage.settings.get("loss_type", "sigmoid")
    trainer_class, config_class, options = classes_for(loss, stage)
    pairs = open_pairs(context, stage.settings["pairs"], prompted=True)
    arguments = training_arguments(
        context,
        stage,
        config_class,
        **batch_options(context, stage),
        beta=stage.settings["beta"],
        max_length=longest_row(context),
        **options,
    )
    training = rows_for(loss, fitting(context, pairs.training, REPLIES, pairs.name))
    held = pairs.held_out[: context.recipe["evaluate"]["problems"]]
    held_out = rows_for(loss, fitting(context, held, REPLIES, f"{pairs.name} (held-out)")) if held else None
    referred = loss not in ("simpo", "orpo")
    saved = saved_reference(context, stage) if referred else None
    trainer = measured(trainer_class)(
        model=context.policy.model,
        **({"ref_model": reference_policy(context, saved)} if referred else {}),
        args=arguments,
        train_dataset=table(training),
        eval_dataset=None if held_out is None else table(held_out),
        processing_class=context.policy.tokenizer,
    )
    trainer.measure_every = context.recipe["evaluate"]["every"]
    lay_out(trainer, context, stage)
    restore_adapters(context, saved)
    try:
        train(context, stage, trainer)
    finally:
        context.policy.forget_reference()


def classes_for(loss: str, stage: Stage) -> tuple[Any, Any, dict[str, Any]]:
    """Returns trainer, configuration and options for a loss. Raises `unsupported` if the installed TRL lacks them."""
    if loss not in OTHERS:
        return *find_trainer("dpo"), {"loss_type": [loss]}
    module, name, options = OTHERS[loss]
    found = imported(module)
    trainer, config = (getattr(found, f"{name}{kind}", None) for kind in ("Trainer", "Config"))
    if trainer is None or config is None:
        raise Failure(
            "unsupported",
            f'{place_of(stage.index, stage.settings)}: the installed TRL does not support "loss_type" "{loss}".',
            'Install another version (pip install "trl==1.13.*"), or choose another loss.',
        )
    return trainer, config, options


def rows_for(loss: str, pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the pairs or, for KTO, a labeled row for each completion, keeping a pair's rows together."""
    if loss != "kto":
        return pairs
    return [
        {"prompt": pair["prompt"], "completion": pair[reply], "label": reply == "chosen"}
        for pair in pairs
        for reply in REPLIES
    ]
