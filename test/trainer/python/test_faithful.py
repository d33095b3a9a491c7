"""The engine trains exactly like TRL: losses, rewards, KL and weights are equal bit for bit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from plain_trl import train_plainly
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from safetensors.torch import load_file
from scripted_driver import ScriptedDriver
from tiny_model import grpo_stage, make_model, recipe, rloo_stage

SEED = 3
STEPS = 6


def loss_stage(loss: str, **settings: Any) -> dict[str, Any]:
    """A stage with two updates on each batch, so that the second one is off-policy."""
    return grpo_stage(4, loss_type=loss, num_iterations=2, learning_rate=1e-2, **settings)


STAGES: dict[str, tuple[dict[str, Any], int | None]] = {
    "grpo": (grpo_stage(STEPS, beta=0.02), None),
    "grpo in micro-batches, several updates a batch": (
        grpo_stage(STEPS, beta=0.02, steps_per_generation=2, num_iterations=2, loss_type="grpo", warmup_steps=4),
        2,
    ),
    "rloo": (rloo_stage(4, beta=0.02), None),
    "adaptive entropy": (grpo_stage(4, use_adaptive_entropy=True, entropy_coef=0.01, entropy_target=9.0), None),
    "GSPO-token": (loss_stage("grpo", importance_sampling_level="sequence_token", epsilon=1e-3), None),
    "GSPO": (loss_stage("grpo", importance_sampling_level="sequence", epsilon=1e-3), None),
    "bnpo with an unbiased KL term": (loss_stage("bnpo", use_bias_correction_kl=True, beta=0.04), None),
    "dr_grpo": (loss_stage("dr_grpo", scale_rewards="none"), None),
    "luspo": (loss_stage("luspo", importance_sampling_level="sequence", epsilon=1e-3), None),
    "cispo": (loss_stage("cispo", epsilon_high=1.001), None),
    "sapo": (loss_stage("sapo", sapo_temperature_neg=2.0), None),
    "vespo": (loss_stage("vespo", vespo_k_neg=2.0), None),
    "gmpo": (loss_stage("gmpo", epsilon=1e-3), None),
    "off-policy mask": (loss_stage("grpo", off_policy_mask_threshold=1e-4), None),
    "tokens with high entropy": (loss_stage("dapo", top_entropy_quantile=0.3, entropy_coef=0.01), None),
}

TIMES = ("step_time",)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_model(tmp_path_factory.mktemp("model"))


QUICK = ("grpo in micro-batches, several updates a batch", "rloo", "adaptive entropy", "GSPO-token")
"""Run by default. faithful.test.ts compares "grpo" through the driver."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.acceptance]) for name in STAGES]
)
def test_equals_plain_trl(name: str, model: str, tmp_path: Path) -> None:
    stage, micro = STAGES[name]
    plain, weights = train_plainly(model, stage, SEED, tmp_path / "plain", micro)
    checkpoint = tmp_path / "checkpoint"

    def orders(method: str, params: dict[str, Any]) -> list[dict[str, Any]] | None:
        last = method == "step" and params["step"] == stage["steps"]
        # Query the policy in between, which must not affect training.
        asks = method == "step" and params["step"] == 3
        if last:
            return [{"do": "checkpoint", "id": 1, "folder": str(checkpoint)}]
        if asks:
            order = {"do": "evaluate", "id": 2, "name": "heldout", "problems": 3, "samples": 1}
            return [{**order, "temperature": 1, "maxTokens": 4}, {"do": "wait"}]
        return None

    driver = ScriptedDriver(recipe(model, [stage], seed=SEED, pytorch={"microBatch": micro}), orders=orders)
    assert run(driver.link, "token", World()) == 0
    driver.close()
    assert len(driver.steps) == len(plain) == stage["steps"]
    for line, step in zip(plain, driver.steps, strict=True):
        ours = step["metrics"]
        for key, value in line.items():
            if key in TIMES:
                continue
            if isinstance(value, float) and not math.isfinite(value):
                value = None
            assert ours[key] == value, f"{key} of step {step['step']}"
    assert not any("error" in answer for answer in driver.answers), driver.answers
    trained = load_file(checkpoint / "model.safetensors")
    for key, value in weights.items():
        assert torch.equal(trained[key], value), key
