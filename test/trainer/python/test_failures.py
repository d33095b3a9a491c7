"""Failures during a stage are reported in one message, and anything that can be saved is offered to the driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import fails
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from reasoning_lab_trainer.models.template import readable
from reasoning_lab_trainer.trl import version
from reasoning_lab_trainer.trl.grpo import LabGRPOTrainer
from scripted_driver import ScriptedDriver, addition
from tiny_model import grpo_stage, make_model, recipe
from transformers import Trainer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_model(tmp_path_factory.mktemp("model"))


def saving(folder: Path) -> Any:
    """Returns a driver's commands that save what a failing trainer offers."""

    def orders(method: str, params: dict[str, Any]) -> list[dict[str, Any]] | None:
        if params.get("failing"):
            return [{"do": "checkpoint", "id": 1, "folder": str(folder)}]
        return [{"do": "stop"}] if params.get("answers") else None

    return orders


def fault_of(driver: ScriptedDriver) -> dict[str, Any]:
    faults = driver.of("fault")
    assert len(faults) == 1, faults
    return faults[0]


def test_a_loss_that_is_no_number(
    model: str, plain_run: ScriptedDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = LabGRPOTrainer.compute_loss

    def spoiled(self: Any, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        loss = plain(self, model, inputs, *args, **kwargs)
        return loss * float("nan") if self.state.global_step == 2 else loss

    with monkeypatch.context() as patch:
        patch.setattr(LabGRPOTrainer, "compute_loss", spoiled)
        driver = ScriptedDriver(recipe(model, [grpo_stage(3)]), orders=saving(tmp_path / "saved"))
        assert run(driver.link, "token", World()) == 2
    fault = fault_of(driver)
    assert fault["reason"] == "invalid"
    assert "update 3" in fault["message"] and "learning_rate" in fault["action"]
    assert len(driver.steps) == 2, "an update that would corrupt the weights is not applied"
    # The saved state is step 2; training continues from it as if the loss had been finite.
    state = driver.answers[0]["value"]["state"]
    resume = {
        "checkpoint": str(tmp_path / "saved"),
        "step": 2,
        "stage": {"index": 0, "step": 2},
        "state": state,
        "sameRun": True,
    }
    resumed = ScriptedDriver(recipe(model, [grpo_stage(3)]), resume=resume)
    assert run(resumed.link, "token", World()) == 0
    assert [step["rollouts"] for step in resumed.steps] == [step["rollouts"] for step in plain_run.steps[2:]]


@pytest.mark.parametrize("where", ["forward", "optimizer"])
def test_no_memory_left(where: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    if where == "forward":
        monkeypatch.setattr(LabGRPOTrainer, "compute_loss", spent)
    else:
        monkeypatch.setattr(torch.optim.AdamW, "step", spent)
    driver = ScriptedDriver(recipe(model, [grpo_stage(2)]), orders=saving(tmp_path / "saved"))
    assert run(driver.link, "token", World()) == 2
    fault = fault_of(driver)
    assert fault["reason"] == "full"
    assert "not have enough memory" in fault["message"]
    for setting in ("microBatch", "gradientCheckpointing", "max_completion_length", "lora"):
        assert setting in fault["action"]
    # A partial optimizer update is neither the old weights nor the new ones, so it is not offered.
    assert bool(driver.answers) == (where == "forward")


def test_a_client_is_told_what_it_got_wrong(model: str) -> None:
    def orders(method: str, params: dict[str, Any]) -> list[dict[str, Any]] | None:
        if method == "step" and params["step"] == 1:
            wrong = {"prompts": ["1+1=" * 100], "n": 1}
            return [
                {"do": "generate", "id": 1, "params": wrong},
                {"do": "score", "id": 2, "params": {"prompts": ["1"], "completions": []}},
                {"do": "fly", "id": 3},
            ]
        return None

    driver = ScriptedDriver(recipe(model, [grpo_stage(2)]), orders=orders)
    assert run(driver.link, "token", World()) == 0, "an invalid request does not end training"
    reasons = {answer["id"]: answer["error"]["reason"] for answer in driver.answers}
    assert reasons == {1: "invalid", 2: "invalid", 3: "unsupported"}


def test_hostile_problems(model: str) -> None:
    """Arbitrary strings are unchanged in rollouts."""
    nasty = ["\0", "</s><eos><pad>", "\ud83d half", "🙂" * 20, "a\r\n\u2028b", "-->\u202e"]

    def problem(index: int) -> dict[str, Any]:
        text = f"{nasty[index % len(nasty)]}1"
        return {**addition(index), "prompt": text, "row": {"prompt": text, "value": None, "deep": [{"x": [text]}]}}

    driver = ScriptedDriver(recipe(model, [grpo_stage(3)]))
    driver.problem = problem
    assert run(driver.link, "token", World()) == 0, driver.of("fault")
    prompts = [line["prompt"] for step in driver.steps for line in step["rollouts"] if line["index"] == 0]
    assert prompts == [f"{readable(text)}1" for text in nasty]
    rows = [line["row"]["prompt"] for step in driver.steps for line in step["rollouts"] if line["index"] == 0]
    assert rows == [f"{text}1" for text in nasty]


def test_a_problem_without_room(model: str) -> None:
    driver = ScriptedDriver(recipe(model, [grpo_stage(1, max_completion_length=100)]))
    driver.problem = lambda index: {**addition(index), "prompt": "1+" * 15}
    assert run(driver.link, "token", World()) == 2
    fault = fault_of(driver)
    assert fault["reason"] == "invalid" and "30 tokens" in fault["message"] and "128" in fault["message"]


def test_a_reward_that_never_applies(model: str) -> None:
    driver = ScriptedDriver(
        recipe(model, [grpo_stage(2)]),
        rewards=lambda row: {"digits": None, "length": 0.5 if "1" in row["prompt"] else None},
    )
    assert run(driver.link, "token", World()) == 0, driver.of("fault")
    for step in driver.steps:
        assert step["metrics"]["rewards/digits/mean"] is None
        assert all(line["rewards"]["digits"] is None for line in step["rollouts"])


def test_another_trl(monkeypatch: pytest.MonkeyPatch) -> None:
    from trl import GRPOTrainer

    monkeypatch.delattr(GRPOTrainer, "_calculate_rewards")
    monkeypatch.setattr(version, "trl_version", lambda: "1.19.0")
    with fails("version", "TRL 1.19.0", "_calculate_rewards", 'pip install "trl==1.13.*"'):
        version.check_version()


def test_the_gpu_that_is_not_there(model: str) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    driver = ScriptedDriver({**recipe(model, [grpo_stage(1)]), "device": "cuda"})
    assert run(driver.link, "token", World()) == 2
    fault = fault_of(driver)
    assert fault["reason"] == "unavailable" and '"cuda"' in fault["message"]


def test_vllm_that_is_not_there(model: str) -> None:
    vllm = {"mode": "colocate", "server": None, "memory": 0.3, "tensorParallel": 1}
    driver = ScriptedDriver(recipe(model, [grpo_stage(1)], pytorch={"vllm": vllm}))
    assert run(driver.link, "token", World()) == 2
    assert fault_of(driver)["reason"] == "unavailable"


def test_transformers_has_the_places_that_are_used() -> None:
    for name in ("_save_optimizer_and_scheduler", "_save_scaler", "_load_rng_state", "_load_from_checkpoint"):
        assert callable(getattr(Trainer, name))
