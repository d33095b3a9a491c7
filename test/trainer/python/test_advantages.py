"""Advantages and losses that TRL lacks: they match the reference, and runs use them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from reasoning_lab_trainer.trl.advantages import max_rl, pass_at_k
from reasoning_lab_trainer.trl.dppo import allowed
from scripted_driver import ScriptedDriver
from tiny_model import grpo_stage, make_model, recipe

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "golden" / "estimators.json").read_text("utf-8")
)


@pytest.mark.parametrize("name", ["passAtK", "maxrl"])
def test_equals_the_code_of_the_authors(name: str) -> None:
    compared = 0
    for case in GOLDEN[name]:
        for start in range(0, len(case["rewards"]), case["size"]):
            group = slice(start, start + case["size"])
            rows = zip(case["rewards"][group], case["advantages"][group], strict=True)
            known = torch.tensor([row for row in rows if row[0] is not None], dtype=torch.float64).reshape(-1, 2)
            rewards, expected = known[:, 0], known[:, 1]
            if len(rewards.unique()) < 2:
                continue
            values = pass_at_k(rewards, case["k"]) if name == "passAtK" else max_rl(rewards)
            # The authors' code for MaxRL computes means in single precision.
            assert torch.allclose(values, expected, rtol=1e-6, atol=1e-6), case
            compared += 1
    assert compared > len(GOLDEN[name]) / 2


def test_dppo_leaves_out_the_tokens_that_verl_does() -> None:
    left_out = 0
    for case in GOLDEN["dppo"]:
        for masked, logprobs, old, advantage, gradients in zip(
            case["masked"], case["logprobs"], case["old"], case["advantages"], case["gradients"], strict=True
        ):
            if masked or advantage == 0:
                continue
            own, before = (torch.tensor([values], dtype=torch.float64) for values in (logprobs, old))
            kept = allowed(own, before, torch.tensor([[advantage]]), case["low"], case["high"], case["kind"])
            assert kept[0].tolist() == [gradient != 0 for gradient in gradients], case
            left_out += int((~kept).sum())
    assert left_out > 10


def test_cispo_warns_if_its_weights_are_below_1(tmp_path: Path) -> None:
    stages = [grpo_stage(1, loss_type="cispo", epsilon_high=high) for high in (0.2, 5)]
    driver = ScriptedDriver(recipe(make_model(tmp_path / "model"), stages, seed=5))
    assert run(driver.link, "token", World()) == 0
    driver.close()
    alerts = [alert["message"] for alert in driver.of("alert") if "cispo" in alert["message"]]
    assert alerts == [
        'With "cispo", "epsilon_high" is the maximum ratio itself, so all weights are at most 0.2. '
        "Set it to at least 1, such as 5."
    ]


def test_a_run_uses_them(tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    stages = [
        grpo_stage(2, loss_type="gmpo", advantage_estimator="pass_at_k", pass_k=2),
        grpo_stage(2, advantage_estimator="maxrl"),
        grpo_stage(2, multi_objective_aggregation="normalize_then_sum"),
        grpo_stage(4, loss_type="dppo_tv", num_iterations=2, epsilon=0.001, epsilon_high=0.001, learning_rate=1e-2),
    ]
    driver = ScriptedDriver(recipe(model, stages, seed=5))
    assert run(driver.link, "token", World()) == 0
    driver.close()
    assert len(driver.steps) == 10
    *_, later = (step["metrics"] for step in driver.steps if step["step"] > 6)
    assert later["clip_ratio/region_mean"] > 0, "the policy has moved by more than the bound"
    seen: set[str] = set()
    for step in driver.steps[:6]:
        assert math.isfinite(step["metrics"]["loss"])
        lines = step.get("rollouts", [])
        size = stages[0]["num_generations"]
        for start in range(0, len(lines), size):
            group = lines[start : start + size]
            rewards = torch.tensor([line["reward"] for line in group], dtype=torch.float64)
            advantages = torch.tensor([line["advantage"] for line in group], dtype=torch.float64)
            kind = (step["step"] - 1) // 2
            if kind == 2:
                # Normalized over the batch: ordered within each group, but not a function of it alone.
                seen.add("gdpo")
                continue
            same = bool((rewards == rewards[0]).all())
            expected = torch.zeros_like(rewards) if same else pass_at_k(rewards, 2) if kind == 0 else max_rl(rewards)
            assert torch.allclose(advantages, expected, rtol=1e-4, atol=1e-4), (step["step"], rewards, advantages)
            if not same:
                seen.add("pass_at_k" if kind == 0 else "maxrl")
    assert seen == {"pass_at_k", "maxrl", "gdpo"}
