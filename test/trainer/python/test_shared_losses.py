"""Both engines on the same rollouts: TRL's loss equals the embedded engine's, with the same recipe keys."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from plain_trl import classes_of
from reasoning_lab_trainer.models.load import load_policy
from reasoning_lab_trainer.trl.dppo import Dppo
from reasoning_lab_trainer.trl.options import settings_by_name
from reasoning_lab_trainer.trl.sampling import place_dataset
from reasoning_lab_trainer.trl.turn_credit import rewarded_turns, tokens_of_turns, turn_advantages
from torch.nn.utils.rnn import pad_sequence
from trl import GRPOTrainer
from trl.experimental.async_grpo import async_grpo_trainer

FIXTURES = Path(__file__).parents[2] / "fixtures" / "trainer"
SHARED: dict[str, Any] = json.loads((FIXTURES / "labLosses.json").read_text("utf-8"))
"""Written by test/scripts/writeLabLosses.ts, with the checkpoint in `lab`."""

ROWS = SHARED["rows"]


class DppoTrainer(Dppo, GRPOTrainer):
    pass


def right(values: list[list[Any]]) -> torch.Tensor:
    return pad_sequence([torch.tensor(row) for row in values], batch_first=True)


def left(values: list[list[Any]]) -> torch.Tensor:
    return pad_sequence([torch.tensor(row) for row in values], batch_first=True, padding_side="left")


def correction(settings: dict[str, Any], old: torch.Tensor, sampler: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Returns the factor as TRL 1.13 computes it when it samples (test/golden/trl.test.ts runs that code)."""
    mode = settings.get("vllm_importance_sampling_mode", "token_truncate" if vespo(settings) else "sequence_mask")
    low = settings.get("vllm_importance_sampling_clip_min")
    high = settings.get("vllm_importance_sampling_clip_max", 3.0)
    change = (old - sampler) * mask
    ratio = (change.sum(-1, keepdim=True) if mode.startswith("sequence") else change).exp()
    if mode.endswith("truncate"):
        return ratio.clamp(min=low, max=high)
    return ratio.masked_fill((ratio < (low or 0.0)) | (ratio > high), 0.0)


def vespo(settings: dict[str, Any]) -> bool:
    return bool(settings["loss_type"] == "vespo")


def trainer_for(settings: dict[str, Any], policy: Any, folder: Path) -> Any:
    loss = settings["loss_type"]
    config_class, trainer_class = classes_of(settings)
    if loss.startswith("dppo_"):
        trainer_class = DppoTrainer
    # These losses are TRL's with modifications.
    named = {"gmpo": "dapo", "dppo_tv": "cispo", "dppo_kl": "cispo"}.get(loss, loss)
    options = {**settings_by_name(config_class, settings), "loss_type": named, "beta": 0.0}
    config = config_class(
        output_dir=str(folder),
        **options,
        max_steps=1,
        use_cpu=True,
        bf16=False,
        report_to="none",
        gradient_checkpointing=False,
        per_device_train_batch_size=len(ROWS),
    )
    return trainer_class(
        model=policy.model,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=config,
        train_dataset=place_dataset(0, 2),
        processing_class=policy.tokenizer,
    )


def token_advantages(case: dict[str, Any]) -> list[list[float]] | None:
    """Returns per-token advantages if turns have their own, which must equal the embedded engine's."""
    if "turns" not in case:
        return None
    rewarded = [
        rewarded_turns(row["trained"], {"turns": [{"reward": one} for one in row["turnRewards"]]}, row["reward"], 1.0)
        for row in ROWS
    ]
    own = turn_advantages(rewarded, case["stage"]["num_generations"], case["stage"]["scale_rewards"])
    for turns, expected in zip(own, case["turns"], strict=True):
        assert turns == pytest.approx(expected, rel=1e-12, abs=1e-12)
    return [tokens_of_turns(row["trained"], turns) for row, turns in zip(ROWS, own, strict=True)]


def test_the_asynchronous_loss_is_equal(recipe: dict[str, Any], tmp_path: Path) -> None:
    """TRL's AsyncGRPOTrainer, whose completions are packed into one row. The last case is its objective."""
    case = SHARED["cases"][-1]
    settings = case["stage"]
    recipe["model"] = {"path": str(FIXTURES / "lab")}
    policy = load_policy(recipe, None, torch.device("cpu"))
    config = async_grpo_trainer.AsyncGRPOConfig(
        output_dir=str(tmp_path),
        **settings_by_name(async_grpo_trainer.AsyncGRPOConfig, settings),
        max_steps=1,
        use_cpu=True,
        bf16=False,
        report_to="none",
        gradient_checkpointing=False,
    )
    unused = types.SimpleNamespace(rollout_buffer=None)
    with patch.object(async_grpo_trainer, "create_model_from_path", lambda *_, **__: policy.model):
        trainer = async_grpo_trainer.AsyncGRPOTrainer(
            model="lab",
            args=config,
            train_dataset=place_dataset(0, 1),
            processing_class=policy.tokenizer,
            rollout_worker=unused,
            weight_transfer=unused,
        )
    trainer.current_gradient_accumulation_steps = 1
    prompts = [row["promptLength"] for row in ROWS]
    samples = [
        {
            "input_ids": row["tokens"],
            "completion_mask": [0] * start + [0 if row["truncated"] else one for one in row["trained"]],
            "old_log_probs": [0.0] * start + row["oldLogprobs"],
            "advantage": advantage,
            "group_id": 0,
            "metrics": {},
        }
        for row, start, advantage in zip(ROWS, prompts, case["advantages"], strict=True)
    ]
    collate = async_grpo_trainer.DataCollatorForRollout(policy.tokenizer.pad_token_id)
    loss = trainer.compute_loss(trainer.model, collate.torch_call([[samples]])).item()
    assert abs(loss - case["loss"]) < 1e-5, f"{loss}, embedded {case['loss']}"


@pytest.mark.parametrize("case", range(len(SHARED["cases"])))
def test_losses_are_equal(case: int, recipe: dict[str, Any], tmp_path: Path) -> None:
    settings, advantages = SHARED["cases"][case]["stage"], SHARED["cases"][case]["advantages"]
    turns = token_advantages(SHARED["cases"][case])
    recipe["model"] = {"path": str(FIXTURES / "lab")}
    policy = load_policy(recipe, None, torch.device("cpu"))
    trainer = trainer_for(settings, policy, tmp_path)
    # Set late so that no reference model is loaded: its log-probabilities are in the rollouts.
    trainer.beta = settings["beta"]
    trainer.current_gradient_accumulation_steps = 1
    trainer.lab_stage = types.SimpleNamespace(settings=settings)
    prompts = [row["tokens"][: row["promptLength"]] for row in ROWS]
    completions = [row["tokens"][row["promptLength"] :] for row in ROWS]
    masked = [settings["mask_truncated_completions"] and row["truncated"] for row in ROWS]
    mask = right([[int(not gone)] * len(ids) for gone, ids in zip(masked, completions, strict=True)])
    tool_mask = right([row["trained"] for row in ROWS])
    old, sampler = (right([row[name] for row in ROWS]) for name in ("oldLogprobs", "samplerLogprobs"))
    inputs = {
        "prompt_ids": left(prompts),
        "prompt_mask": left([[1] * len(ids) for ids in prompts]),
        "completion_ids": right(completions),
        "completion_mask": mask,
        "tool_mask": tool_mask,
        "advantages": torch.tensor(advantages, dtype=torch.float32) if turns is None else right(turns).float(),
        "num_items_in_batch": (mask * tool_mask).sum(),
        "old_per_token_logps": old,
        "ref_per_token_logps": right([row["refLogprobs"] for row in ROWS]),
    }
    if settings.get("vllm_importance_sampling_correction"):
        trainer.use_vllm = trainer.vllm_importance_sampling_correction = True
        inputs["importance_sampling_ratio"] = correction(settings, old, sampler, mask * tool_mask)
    trainer.model.train()
    loss = trainer._compute_loss(trainer.model, inputs).item()
    if settings["loss_type"] == "gmpo":
        # TRL adds a constant for each masked completion.
        loss += sum(value for value, gone in zip(advantages, masked, strict=True) if gone) / len(ROWS)
    expected = SHARED["cases"][case]["loss"]
    assert abs(loss - expected) < 1e-5, f"{settings['loss_type']}: {loss}, embedded {expected}"
