"""The `rloo` stage: REINFORCE with a leave-one-out baseline (Ahmadian et al. 2024), using TRL's RLOOTrainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl import RLOOConfig, RLOOTrainer

from .sampling import Sampling
from .sampling_stage import run_sampling_stage

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage


class LabRLOOTrainer(Sampling, RLOOTrainer):
    """RLOOTrainer that records its batches."""


def run_stage(context: Context, stage: Stage) -> None:
    run_sampling_stage(context, stage, LabRLOOTrainer, RLOOConfig)
