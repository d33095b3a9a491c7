"""The `grpo` stage: group relative policy optimization (Shao et al. 2024) with TRL's GRPOTrainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl import GRPOConfig, GRPOTrainer

from ..failure import Failure
from .advantages import Advantages
from .async_grpo import run_async_stage
from .dppo import UPPER, Dppo
from .options import settings_by_name
from .refused import imported
from .sampling import Sampling
from .sampling_stage import run_sampling_stage
from .turn_credit import TurnCredit

if TYPE_CHECKING:
    from ..course.context import Context
    from ..course.stage import Stage


class LabGRPOTrainer(Sampling, TurnCredit, Advantages, GRPOTrainer):
    """GRPOTrainer that records its batches."""


class LabDPPOTrainer(Sampling, Dppo, TurnCredit, Advantages, GRPOTrainer):
    """GRPOTrainer with DPPO's loss that records its batches."""


def run_stage(context: Context, stage: Stage) -> None:
    loss = stage.settings["loss_type"]
    if stage.settings.get("max_staleness"):
        run_async_stage(context, stage)
    elif loss == "gmpo":
        # GMPOTrainer has one loss and ignores this option.
        run_sampling_stage(context, stage, *gmpo_classes(), loss_type="dapo")
    elif level_of(stage) == "sequence_token":
        run_sampling_stage(context, stage, gspo_token_class(), GRPOConfig)
    elif loss == "vespo":
        # With vLLM, TRL rejects its default mode for VESPO.
        mode = stage.settings.get("vllm_importance_sampling_mode", "token_truncate")
        own = settings_by_name(GRPOConfig, {"vllm_importance_sampling_mode": mode})
        run_sampling_stage(context, stage, LabGRPOTrainer, GRPOConfig, **own)
    elif loss.startswith("dppo_"):
        run_sampling_stage(context, stage, LabDPPOTrainer, GRPOConfig, loss_type="cispo")
    else:
        if loss == "cispo" and stage.settings[UPPER] < 1:
            context.alert(
                "warning",
                f'With "cispo", "{UPPER}" is the maximum ratio itself, so all weights are at most '
                f"{stage.settings[UPPER]:g}. Set it to at least 1, such as 5.",
            )
        run_sampling_stage(context, stage, LabGRPOTrainer, GRPOConfig)


def level_of(stage: Stage) -> str:
    """Returns the level of importance ratios, which older recipes set in the `trainer` block."""
    trainer = stage.settings.get("trainer") or {}
    return str(stage.settings.get("importance_sampling_level") or trainer.get("importance_sampling_level") or "token")


def gspo_token_class() -> type:
    """Returns the trainer for GSPO-token. Raises `unsupported` if the installed TRL has none."""
    gspo_token = imported("trl.experimental.gspo_token")
    if gspo_token is None:
        raise Failure(
            "unsupported",
            'The installed TRL does not support "importance_sampling_level" "sequence_token".',
            'Install another version (pip install "trl==1.13.*"), use "sequence", or set "engine": "embedded".',
        )
    return type("LabGSPOTokenTrainer", (Sampling, TurnCredit, Advantages, gspo_token.GRPOTrainer), {})


def gmpo_classes() -> tuple[type, type]:
    """Returns the trainer for GMPO and its configuration class. Raises `unsupported` if the installed TRL has none."""
    gmpo = imported("trl.experimental.gmpo")
    if gmpo is None:
        raise Failure(
            "unsupported",
            'The installed TRL does not support "loss_type" "gmpo".',
            'Install another version (pip install "trl==1.13.*"), choose another loss, or set "engine": "embedded".',
        )
    return type("LabGMPOTrainer", (Sampling, Advantages, gmpo.GMPOTrainer), {}), gmpo.GMPOConfig
