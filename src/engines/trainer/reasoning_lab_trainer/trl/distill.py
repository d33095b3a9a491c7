"""The `distill` stage. Trains with TRL's SFTTrainer on teacher completions, optionally only those that the recipe's
rewards accept (rejection sampling as in Yuan et al. 2023, section 3.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..data.teacher import TeacherRow, open_teacher
from ..failure import Failure
from ..link.messages import ScoreRow
from . import on_policy_distill, self_distill
from .rewards import text_of_completion, text_of_prompt
from .sft import train_rows

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage

SCORED_AT_ONCE = 512
"""Number of rows per reward request, across all processes."""


def run_stage(context: Context, stage: Stage) -> None:
    """Trains on the teacher's rows, in epochs, or on the student's samples. Raises `invalid` if no row is accepted."""
    if stage.settings.get("method") in ("sdft", "sdpo"):
        self_distill.run_stage(context, stage)
        return
    if stage.settings.get("teacher") is not None:
        on_policy_distill.run_stage(context, stage)
        return
    rows, name = open_teacher(context, stage.settings["data"], scored=stage.settings["minReward"] is not None)
    kept = rows if stage.settings["minReward"] is None else accepted(context, stage, rows, name)
    pairs: list[dict[str, Any]] = [{"prompt": row.prompt, "completion": row.completion} for row in kept]
    train_rows(context, stage, pairs, name, None)


def accepted(context: Context, stage: Stage, rows: list[TeacherRow], name: str) -> list[TeacherRow]:
    """Returns the rows with a reward of at least `minReward`. The selection is made at the start of the stage and
    stored in checkpoints: rewards can change later, and a resumed run must use the same rows.
    """
    least = float(stage.settings["minReward"])
    before = context.memory.get(f"accepted/{stage.index}")
    if isinstance(before, str) and len(before) * 4 >= len(rows) > 0:
        bits = int(before, 16)
        return [row for place, row in enumerate(rows) if bits >> place & 1]
    rewards: list[float | None] = []
    for start in range(0, len(rows), SCORED_AT_ONCE):
        rewards += rewards_of(context, stage, rows[start : start + SCORED_AT_ONCE])
    passed = [reward is not None and reward >= least for reward in rewards]
    bits = sum(1 << place for place, good in enumerate(passed) if good)
    context.memory[f"accepted/{stage.index}"] = format(bits, f"0{-(-len(rows) // 4)}x")
    without = sum(reward is None for reward in rewards)
    context.alert(
        "info",
        f"{name}: {sum(passed)} of {len(rows)} completions have a reward of at least {least:g} and are used for "
        "training" + (f"; {without} have no reward." if without else "."),
    )
    if not any(passed):
        best = max((reward for reward in rewards if reward is not None), default=None)
        raise Failure(
            "invalid",
            f"{name}: no completion has a reward of at least {least:g}"
            + (f"; the highest is {best:g}." if best is not None else "; no rewards are available."),
            'Lower "minReward", or check the reward output for these completions.',
        )
    return [row for row, good in zip(rows, passed, strict=True) if good]


def rewards_of(context: Context, stage: Stage, rows: list[TeacherRow]) -> list[float | None]:
    """Returns the rewards for the rows, in order. Each rank scores an equal number of rows, padded if necessary."""
    world = context.world
    share = -(-len(rows) // world.size)
    padded = rows + [rows[-1]] * (share * world.size - len(rows))
    own = [score_row(context, row) for row in padded[world.rank * share : (world.rank + 1) * share]]
    in_process = context.in_process_rewards
    known = None if in_process is None else in_process.score(own, stage.first_step)
    scored = context.score(own, stage.first_step, known)
    gathered = world.broadcast([row["reward"] for of_rank in world.gather(scored) for row in of_rank])
    return gathered[: len(rows)]


def score_row(context: Context, row: TeacherRow) -> ScoreRow:
    """Converts a completion to reward input."""
    scored: ScoreRow = {
        "prompt": text_of_prompt(context.policy.tokenizer, row.prompt),
        "completion": text_of_completion(row.completion),
        "answer": row.answer,
        "row": row.row,
        "truncated": False,
    }
    if isinstance(row.prompt, list):
        scored["messages"] = {"prompt": row.prompt, "completion": row.completion}
    return scored
