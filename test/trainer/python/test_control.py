"""Driver requests in the middle of training: pauses, changes, ending a stage, fixing a reward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from scripted_driver import ScriptedDriver, addition
from test_resume import told
from tiny_model import grpo_stage, make_model, recipe, rloo_stage, sft_stage

Json = dict[str, Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_model(tmp_path_factory.mktemp("model"))


def train(driver: ScriptedDriver) -> ScriptedDriver:
    assert run(driver.link, "token", World()) == 0, driver.of("fault")
    driver.close()
    return driver


def resume_from(folder: Path, driver: ScriptedDriver, step: int) -> Json:
    state = next(answer["value"]["state"] for answer in driver.answers if "state" in answer.get("value", {}))
    stage = {"index": state["stage"]["index"], "step": state["stage"]["step"]}
    return {"checkpoint": str(folder), "step": step, "stage": stage, "state": state, "sameRun": True}


def test_a_batch_waits_for_its_reward_and_is_saved_as_it_was_before(
    model: str, plain_run: ScriptedDriver, tmp_path: Path
) -> None:
    asked = recipe(model, [grpo_stage(3)])
    folder = tmp_path / "held"
    scored = 0

    def orders(method: str, params: Json) -> list[Json] | None:
        nonlocal scored
        if method != "rewards/score":
            return None
        scored += 1
        if scored == 3:
            return [{"do": "checkpoint", "id": 1, "folder": str(folder)}, {"do": "wait"}]
        return [{"do": "wait"}] if scored == 4 else None

    held = train(ScriptedDriver(asked, orders=orders))
    rows = [params["rows"] for params in held.of("rewards/score")]
    assert rows[2] == rows[3] == rows[4], "the same rows again"
    assert told(held) == told(plain_run)
    resumed = train(ScriptedDriver(asked, resume=resume_from(folder, held, 2)))
    assert told(resumed) == {step: line for step, line in told(plain_run).items() if step > 2}


def test_a_run_is_stopped_while_a_reward_fails(model: str) -> None:
    driver = ScriptedDriver(
        recipe(model, [grpo_stage(4), rloo_stage(2)]),
        orders=lambda method, params: [{"do": "stop"}] if method == "rewards/score" and params["step"] == 2 else None,
    )
    train(driver)
    assert [step["step"] for step in driver.steps] == [1, 2]
    assert not driver.of("finished")


@pytest.mark.parametrize("stage", [grpo_stage(5, beta=0.02, lr_scheduler_type="linear", warmup_steps=2)])
def test_hyperparameters_hold_from_the_next_batch_on(stage: Json, model: str, tmp_path: Path) -> None:
    asked = recipe(model, [stage])
    folder = tmp_path / "changed"
    changed = {"learning_rate": 4e-3, "beta": 0.3, "epsilon": 0.1, "epsilon_high": 0.4, "temperature": 0.5}
    whole = train(ScriptedDriver(asked))

    def orders(method: str, params: Json) -> list[Json] | None:
        if method == "step" and params["step"] == 3:
            return [{"do": "checkpoint", "id": 1, "folder": str(folder)}]
        late = method == "run/orders" or (method == "step" and params["step"] >= 2)
        return [{"do": "continue", "hyperparameters": changed}] if late else None

    driver = train(ScriptedDriver(asked, orders=orders))
    rates = [step["metrics"]["learning_rate"] for step in driver.steps]
    plain = [step["metrics"]["learning_rate"] for step in whole.steps]
    assert rates[:2] == plain[:2]
    # The schedule continues from its position with a rate four times as high.
    assert rates[2:] == pytest.approx([4 * rate for rate in plain[2:]])
    assert told(driver)[2] == told(whole)[2]
    assert driver.steps[2]["metrics"]["entropy"] < whole.steps[2]["metrics"]["entropy"], "a lower temperature"
    again = train(
        ScriptedDriver(
            asked,
            resume=resume_from(folder, driver, 3),
            orders=lambda method, params: (
                [{"do": "continue", "hyperparameters": changed}] if method in ("stage", "step") else None
            ),
        )
    )
    assert told(again) == {step: line for step, line in told(driver).items() if step > 3}


def test_beta_cannot_begin_in_the_middle(model: str) -> None:
    driver = ScriptedDriver(
        recipe(model, [grpo_stage(3, beta=0)]),
        orders=lambda method, params: (
            [{"do": "continue", "hyperparameters": {"beta": 0.1}}] if method == "step" else None
        ),
    )
    train(driver)
    alerts = [alert["message"] for alert in driver.of("alert")]
    assert len(alerts) == 1 and "beta remains 0" in alerts[0]


def test_a_stage_ends_by_what_was_measured(model: str) -> None:
    def orders(method: str, params: Json) -> list[Json] | None:
        ends = {"do": "end-stage", "because": "until"}
        if method == "step" and params["step"] == 2:
            return [{"do": "wait"}, ends]
        # The second stage ends early because its accuracy is already reached before it starts.
        return [ends] if method == "stage" and params["index"] == 1 else None

    driver = train(ScriptedDriver(recipe(model, [sft_stage(9), rloo_stage(3), grpo_stage(2)]), orders=orders))
    assert [(stage["index"], stage["step"]) for stage in driver.of("stage")] == [(0, 0), (1, 0), (2, 0)]
    assert [step["step"] for step in driver.steps] == [1, 2, 3, 4]
    assert [step["tokens"] for step in driver.steps] == sorted({step["tokens"] for step in driver.steps})
    # Problems continue where the cold start stopped: two updates of four.
    posed = [scored["rows"][0]["row"]["prompt"] for scored in driver.of("rewards/score")]
    assert posed == [addition(8)["prompt"], addition(10)["prompt"]]
    assert driver.of("finished")


def test_rollouts_are_kept_as_the_recipe_says(model: str) -> None:
    log = {"rolloutsEvery": 2, "tokens": False}
    stage = grpo_stage(8, num_iterations=2)
    driver = train(ScriptedDriver(recipe(model, [stage], log=log)))
    assert [step["step"] for step in driver.steps if "rollouts" in step] == [1, 5]
    assert [step["batchEnds"] for step in driver.steps] == [False, True] * 4
    line = driver.steps[0]["rollouts"][0]
    assert "tokens" not in line and line["extra"]["length"] > 0


def test_rollouts_tell_what_trl_computed_anyway(model: str) -> None:
    driver = train(ScriptedDriver(recipe(model, [grpo_stage(2, beta=0.02, steps_per_generation=2)])))
    lines = driver.steps[0]["rollouts"]
    assert "rollouts" not in driver.steps[1]
    for line in lines:
        tokens = line["tokens"]
        length = len(tokens["text"])
        assert length > 0 and {len(values) for values in tokens.values()} == {length}
        # With several updates per batch, TRL computes the policy's log-probabilities before the first one.
        assert tokens["logprob"] == tokens["oldLogprob"]
        assert None not in tokens["logprob"] and None not in tokens["refLogprob"]
        assert tokens["logprob"] == pytest.approx(tokens["refLogprob"], abs=10), "nothing is learned yet"
    # Entropy comes from the update's own forward pass, which half of the rows have not had yet.
    known = [None not in line["tokens"]["entropy"] for line in lines]
    assert known.count(True) == known.count(False) == len(lines) // 2


def test_rewards_inside_the_trainer(model: str, plain_run: ScriptedDriver, tmp_path: Path) -> None:
    file = tmp_path / "own.reward.py"
    file.write_text(
        "import torch\n"
        "def digits(completions, log_metric=None, **kwargs):\n"
        "    torch.manual_seed(1)\n"
        "    log_metric('digits/longest', max(map(len, completions)))\n"
        "    return [sum(c.isdigit() for c in text) / max(1, len(text)) for text in completions]\n"
    )
    asked = recipe(model, [grpo_stage(3)])
    driver = ScriptedDriver({**asked, "pytorch": {**asked["pytorch"], "rewards": "in-process"}})
    driver.columns[0]["file"] = str(file)
    train(driver)
    assert [step["rollouts"] for step in driver.steps] == [step["rollouts"] for step in plain_run.steps]
    for scored in driver.of("rewards/score"):
        assert list(scored["known"]) == ["digits"] and len(scored["known"]["digits"]) == len(scored["rows"])
    assert driver.steps[0]["metrics"]["digits/longest"] > 0

    file.write_text("def digits(completions, **kwargs):\n    return [1 / 0 for _ in completions]\n")
    failing = ScriptedDriver(driver.recipe)
    failing.columns[0]["file"] = str(file)
    assert run(failing.link, "token", World()) == 2
    fault = failing.of("fault")[0]
    assert fault["reason"] == "invalid" and "line 2" in fault["message"] and "ZeroDivisionError" in fault["message"]
