"""The `sft` stage: trains on worked solutions with TRL's SFTTrainer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..course.train_stage import train
from ..failure import Failure
from ..link.messages import Problem
from .arguments import training_arguments
from .refused import find_trainer
from .row_tokens import fitting, imitated
from .rows_stage import MAX_ROWS, batch_options, lay_out, longest_row, measured, table

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage


OWN_PREPARATION = frozenset(
    {"assistant_only_loss", "completion_only_loss", "truncation_mode", "dataset_kwargs", "eos_token", "pad_token"}
)
"""TRL options that change how rows are tokenized. If any of them is set, TRL tokenizes the rows."""


def run_stage(context: Context, stage: Stage) -> None:
    """Trains on problems from the stream, starting at `stage.first_problem`, with `batch_size` problems per update."""
    needed = min(stage.steps * int(stage.settings["batch_size"]), MAX_ROWS)
    problems = context.problems.training(stage.first_problem, needed)
    rows: list[dict[str, Any]] = []
    places: dict[tuple[str, Any, str | None], int] = {}
    order: list[int] = []
    for problem in problems:
        # File rows recur in later epochs, so prepare each row only once.
        key = (problem["prompt"], problem["answer"], problem["solution"])
        if key not in places:
            places[key] = len(rows)
            rows.append(worked_row(context, problem))
        order.append(places[key])
    train_rows(context, stage, rows, "The worked solutions", order)


def worked_row(context: Context, problem: Problem) -> dict[str, Any]:
    """Converts a problem to prompt and completion. Raises `invalid` if it has no worked solution."""
    template = context.policy.template
    solution, answer = problem["solution"], problem["answer"]
    if answer is None or (solution is None and template.think is not None):
        lacks = "answer" if answer is None else "worked solution"
        raise Failure(
            "invalid",
            f'The "sft" stage trains on worked solutions, but problem {problem["prompt"][:80]!r} has no {lacks}.',
            'Set "solution" in "dataset" to the name of the column, or remove the stage.',
        )
    return {
        "prompt": template.ask(problem["prompt"]),
        "completion": template.reply(template.worked(solution or "", str(answer))),
    }


def train_rows(context: Context, stage: Stage, rows: list[dict[str, Any]], what: str, order: list[int] | None) -> None:
    """Trains on completions. `order`: row indices in training order, or None for separately shuffled epochs."""
    trainer_class, config_class = find_trainer("sft")
    packing = bool((context.recipe.get("pytorch") or {}).get("packing"))
    if OWN_PREPARATION.isdisjoint(stage.settings.get("trainer") or {}):
        prepared = imitated(context, rows, what, packing)
        longest = longest_row(context) if packing else None
    else:
        prepared = table(fitting(context, rows, ["completion"], what))
        longest = longest_row(context)
    arguments = training_arguments(
        context, stage, config_class, **batch_options(context, stage), packing=packing, max_length=longest
    )
    trainer = measured(trainer_class)(
        model=context.policy.model,
        args=arguments,
        train_dataset=prepared,
        processing_class=context.policy.tokenizer,
    )
    lay_out(trainer, context, stage, order if len(trainer.train_dataset) == len(rows) else None)
    if stage.type == "sft":
        trainer.problems_per_batch = int(stage.settings["batch_size"])
    train(context, stage, trainer)
