"""The `grpo` stage: group relative policy optimization (Shao et al. 2024) with TRL's GRPOTrainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl import GRPOConfig, GRPOTrainer

from .sampling import Sampling
from .sampling_stage import run_sampling_stage

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage


class LabGRPOTrainer(Sampling, GRPOTrainer):
    """GRPOTrainer that records its batches."""


def run_stage(context: Context, stage: Stage) -> None:
    run_sampling_stage(context, stage, LabGRPOTrainer, GRPOConfig)
