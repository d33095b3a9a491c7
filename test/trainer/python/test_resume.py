"""A run resumed from a checkpoint continues as if it had not been interrupted: metrics and rollouts are equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from scripted_driver import ScriptedDriver
from tiny_model import grpo_stage, make_model, recipe, rloo_stage, sft_stage

LORA = {"r": 4, "alpha": 8, "dropout": 0.1, "targets": "all-linear", "quantize": "none"}

RUNS: dict[str, dict[str, Any]] = {
    "grpo": {"stages": [grpo_stage(4, lr_scheduler_type="linear")]},
    "grpo, several updates a batch": {
        "stages": [
            grpo_stage(8, steps_per_generation=2, num_iterations=2, use_adaptive_entropy=True, entropy_target=9.0)
        ],
        "pytorch": {"microBatch": 2},
    },
    "grpo with adapters": {"stages": [grpo_stage(3)], "pytorch": {"lora": LORA}},
    "two stages": {"stages": [rloo_stage(1), grpo_stage(2, beta=0.05)]},
    "a cold start before": {"stages": [sft_stage(2), grpo_stage(3, beta=0.05)]},
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_model(tmp_path_factory.mktemp("model"))


def train(
    recipe: dict[str, Any], checkpoints: Path | None = None, resume: dict[str, Any] | None = None
) -> tuple[ScriptedDriver, dict[int, dict[str, Any]]]:
    """Trains a run with a checkpoint after every batch, and returns how to resume from each of them."""
    saved: dict[int, dict[str, Any]] = {}
    place = {"index": 0, "step": 0, "first": 0}

    def orders(method: str, params: dict[str, Any]) -> list[dict[str, Any]] | None:
        if method == "stage":
            place["index"] = params["index"]
        if method == "step" and params["batchEnds"] and checkpoints is not None:
            step = params["step"]
            return [{"do": "checkpoint", "id": step, "folder": str(checkpoints / str(step))}]
        for answer in params.get("answers", []):
            assert "error" not in answer, answer
            state = answer["value"]["state"]
            step = answer["id"]
            saved[step] = {
                "checkpoint": str(checkpoints / str(step)),
                "step": step,
                "stage": {"index": state["stage"]["index"], "step": state["stage"]["step"]},
                "state": state,
                "sameRun": True,
            }
        return None

    driver = ScriptedDriver(recipe, orders=orders, resume=resume)
    assert run(driver.link, "token", World()) == 0, driver.of("fault")
    driver.close()
    return driver, saved


def told(driver: ScriptedDriver) -> dict[int, dict[str, Any]]:
    """Returns the parts of each step that must be equal: everything except timings."""
    return {
        step["step"]: {
            "metrics": {
                name: value
                for name, value in step["metrics"].items()
                if name != "step_time" and not name.startswith(("time/", "throughput/", "perf/"))
            },
            "rollouts": step.get("rollouts"),
            "tokens": step["tokens"],
        }
        for step in driver.steps
    }


@pytest.mark.parametrize("name", ["grpo, several updates a batch", "grpo with adapters", "two stages"])
def test_goes_on_bit_for_bit(name: str, model: str, tmp_path: Path) -> None:
    resume_from(name, model, tmp_path, lambda steps: {steps[-2]})


@pytest.mark.acceptance
@pytest.mark.parametrize("name", RUNS)
def test_goes_on_bit_for_bit_from_any_checkpoint(name: str, model: str, tmp_path: Path) -> None:
    resume_from(name, model, tmp_path, lambda steps: set(steps[:-1]))


def resume_from(name: str, model: str, tmp_path: Path, choose: Callable[[list[int]], set[int]]) -> None:
    """Trains a run, and resumes it from the chosen checkpoints."""
    settings = RUNS[name]
    whole_recipe = recipe(model, **settings)
    driver, saved = train(whole_recipe, tmp_path)
    whole = told(driver)
    assert len(saved) >= 2
    for step in choose(sorted(saved)):
        resumed = told(train(whole_recipe, resume=saved[step])[0])
        assert sorted(resumed) == [s for s in sorted(whole) if s > step], f"after step {step}"
        for s, line in resumed.items():
            assert line == whole[s], f"step {s} of a run that was resumed after step {step}"


def test_has_what_other_programs_load(model: str, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    train(recipe(model, [grpo_stage(1)]), tmp_path)
    folder = tmp_path / "1"
    assert AutoModelForCausalLM.from_pretrained(folder).num_parameters() > 0
    assert AutoTokenizer.from_pretrained(folder).eos_token == "<eos>"
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "generation_config.json", "tokenizer.json", "trainer"} <= names
    assert not list(folder.rglob("training_args.bin")), "a pickle that runs code when it is loaded"
