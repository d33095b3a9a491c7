"""Sampling while training, with TRL's AsyncGRPOTrainer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from reasoning_lab_trainer.failure import Failure
from reasoning_lab_trainer.trl.advantages import group_advantages
from reasoning_lab_trainer.trl.batches_ahead import AHEAD, saved_batches
from reasoning_lab_trainer.trl.refused import refuse
from scripted_driver import ScriptedDriver
from test_resume import told, train
from tiny_model import grpo_stage, make_model, recipe

Whole = tuple[dict[str, Any], dict[int, dict[str, Any]], dict[int, dict[str, Any]]]
COUNTS = {"prompts_per_step": 2, "num_generations": 4}


def async_stage(steps: int, max_staleness: int = 1, **settings: Any) -> dict[str, Any]:
    return grpo_stage(steps, **{"beta": 0, "max_staleness": max_staleness, **settings})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_model(tmp_path_factory.mktemp("model"))


def versions(driver: ScriptedDriver) -> dict[int, set[float]]:
    """Returns the versions of the weights that sampled the tokens logged at each step."""
    return {
        step["step"]: {version for row in step["rollouts"] for version in row["tokens"]["version"]}
        for step in driver.steps
        if "rollouts" in step
    }


@pytest.mark.parametrize(
    ("max_staleness", "updates", "expected"),
    [
        (1, 1, {1: {0.0}, 2: {0.0}, 3: {1.0}, 4: {2.0}, 5: {3.0}, 6: {4.0}}),
        (3, 1, {1: {0.0}, 2: {0.0}, 3: {0.0}, 4: {0.0}, 5: {1.0}, 6: {2.0}}),
        (3, 2, {1: {0.0}, 3: {0.0}, 5: {2.0}}),
    ],
)
def test_samples_with_the_weights_that_the_recipe_names(
    max_staleness: int, updates: int, expected: dict[int, set[float]], model: str
) -> None:
    driver, _ = train(recipe(model, [async_stage(6, max_staleness, steps_per_generation=updates)]))
    assert versions(driver) == expected
    staleness = {step["step"]: step["metrics"].get("sample/staleness_max") for step in driver.steps}
    ages = {step: step - 1 - version for step, (version,) in expected.items()}
    assert {step: age for step, age in staleness.items() if age is not None} == ages
    assert max(ages.values()) == max_staleness // updates * updates


def test_the_sampler_and_the_trainer_agree_as_far_as_their_weights_do(model: str) -> None:
    """The completions of a batch are packed into one row, in which they must not see each other."""
    driver, _ = train(recipe(model, [async_stage(3, learning_rate=0.05)]))
    differences = []
    for step in driver.steps:
        for row in step["rollouts"]:
            tokens = row["tokens"]
            assert len(tokens["logprob"]) == len(tokens["oldLogprob"]) == len(tokens["entropy"])
            pairs = zip(tokens["logprob"], tokens["oldLogprob"], strict=True)
            differences.append((step["step"], max(abs(sampled - trained) for sampled, trained in pairs)))
        largest = max(value for number, value in differences if number == step["step"])
        assert step["metrics"]["sampling/sampling_logp_difference/max"] == pytest.approx(largest, abs=1e-6)
    assert max(value for step, value in differences if step == 1) < 1e-5
    assert min(value for step, value in differences if step > 1) > 1e-3


def test_learns_like_grpo(model: str) -> None:
    """Without staleness in its first batch, the first update equals GRPOTrainer's on the same rollouts."""
    driver, _ = train(recipe(model, [async_stage(25, learning_rate=0.01)]))
    rewards = [step["metrics"]["reward"] for step in driver.steps]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.3, rewards
    first, last = driver.steps[0]["metrics"], driver.steps[-1]["metrics"]
    assert first["sampling/mismatch_kl"] == pytest.approx(0, abs=1e-6)
    assert "kl" not in last and last["sampling/mismatch_kl"] > 0
    rows = driver.steps[-1]["rollouts"]
    assert last["reward"] == pytest.approx(sum(row["reward"] for row in rows) / len(rows), abs=1e-6)
    prompts = {row["group"]: row["prompt"] for row in rows}
    assert len(prompts) == COUNTS["prompts_per_step"] and len(rows) == 8


@pytest.fixture(scope="module")
def whole(model: str, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Returns the recipe of a run with two stages, its steps, and how to resume it from each of its checkpoints."""
    stages = [async_stage(6, 3, steps_per_generation=1), async_stage(4, 2, steps_per_generation=2)]
    asked = recipe(model, stages, pytorch={"microBatch": 2})
    driver, saved = train(asked, tmp_path_factory.mktemp("whole"))
    return asked, told(driver), saved


@pytest.mark.parametrize("step", [1, 3, 6, 8])
def test_resumes_bit_for_bit(step: int, whole: Whole) -> None:
    asked, lines, saved = whole
    resumed = told(train(asked, resume=saved[step])[0])
    assert resumed == {s: line for s, line in lines.items() if s > step}


def test_says_when_a_checkpoint_lacks_its_batches(model: str, tmp_path: Path) -> None:
    whole_recipe = recipe(model, [async_stage(4, 3)])
    _, saved = train(whole_recipe, tmp_path)
    file = tmp_path / "2" / "trainer" / AHEAD
    assert sorted(json.loads(file.read_text())) == ["2", "3"]
    batches = json.loads(file.read_text())
    del batches["3"]
    file.write_text(json.dumps(batches))
    assert len(train(whole_recipe, resume=saved[2])[0].of("alert")) == 1
    file.unlink()
    driver, _ = train(whole_recipe, resume=saved[2])
    assert [alert["message"] for alert in driver.of("alert")] == [
        "The checkpoint lacks the batches that were sampled ahead. They are sampled with newer weights, so the run "
        "differs from an uninterrupted one."
    ]
    for text in ('{"2": ', '{"2": {"version": 0}}', "[]", '{"x": {"version": 0, "completions": []}}'):
        file.write_text(text)
        with pytest.raises(Failure, match="Resume from another checkpoint") as caught:
            saved_batches(str(file.parent))
        assert caught.value.reason == "corrupt"


def test_trains_a_chat_model(llama_folder: Path) -> None:
    settings = {"template": {"prompt": "{prompt}", "think": None, "answer": None, "chat": True, "system": "Add."}}
    driver, _ = train({**recipe(str(llama_folder), [async_stage(2, max_completion_length=12)]), **settings})
    row = driver.steps[0]["rollouts"][0]
    assert [message["role"] for message in row["prompt"]] == ["system", "user"], row["prompt"]
    assert [message["role"] for message in row["completion"]] == ["assistant"]
    (request, *_) = driver.of("rewards/score")
    assert request["rows"][0]["prompt"].endswith("<|assistant|>")


def test_answers_requests_with_the_policy_while_it_samples(model: str) -> None:
    """TRL replaces the model's forward method, and a thread samples with a copy of the model."""
    asked: list[int] = []

    def orders(method: str, params: dict[str, Any]) -> list[dict[str, Any]] | None:
        if method == "step" and not asked:
            asked.append(params["step"])
            options = {"prompts": ["12+34="], "n": 2, "maxTokens": 4, "temperature": 1, "logprobs": True}
            return [{"do": "generate", "id": 7, "params": options}]
        return None

    driver = ScriptedDriver(recipe(model, [async_stage(3)]), orders=orders)
    assert run(driver.link, "token", World()) == 0, driver.of("fault")
    driver.close()
    (answer,) = driver.answers
    assert "error" not in answer, answer
    assert len(driver.steps) == 3


def test_a_failure_in_the_thread_ends_the_run(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from reasoning_lab_trainer.policy.sampler import Sampler

    calls: list[int] = []
    sample = Sampler._sample_together

    def failing(self: Any, *args: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Failure("invalid", "The sampler failed.")
        sample(self, *args)

    monkeypatch.setattr(Sampler, "_sample_together", failing)
    driver = ScriptedDriver(recipe(model, [async_stage(6)]))
    assert run(driver.link, "token", World()) == 2
    driver.close()
    assert [fault["message"] for fault in driver.of("fault")] == ["The sampler failed."]
    assert len(driver.steps) == 2


def test_stops_while_a_batch_is_sampled(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from reasoning_lab_trainer.policy.sampler import Sampler

    draws: list[int] = []
    record = Sampler._record

    def counted(self: Any, *args: Any) -> Any:
        draws.append(1)
        return record(self, *args)

    monkeypatch.setattr(Sampler, "_record", counted)
    orders = lambda method, params: [{"do": "stop"}] if method == "stage" else None  # noqa: E731
    stage = async_stage(6, 3, max_completion_length=100)
    driver = ScriptedDriver(recipe(model, [stage]), orders=orders)
    assert run(driver.link, "token", World()) == 0, driver.of("fault")
    driver.close()
    assert len(draws) < 400
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sampler")]


def test_hyperparameters_that_cannot_change(model: str) -> None:
    def orders(method: str, params: dict[str, Any]) -> list[dict[str, Any]] | None:
        if method != "step":
            return None
        values = {"temperature": 0.5, "beta": 0.1, "epsilon": 0.1, "learning_rate": 1e-4}
        return [{"do": "continue", "hyperparameters": values}]

    driver = ScriptedDriver(recipe(model, [async_stage(3)]), orders=orders)
    assert run(driver.link, "token", World()) == 0, driver.of("fault")
    driver.close()
    assert sorted(alert["message"] for alert in driver.of("alert")) == [
        "TRL's AsyncGRPOTrainer cannot change the temperature during a stage.",
        "TRL's AsyncGRPOTrainer has no KL term.",
    ]
    assert driver.steps[-1]["metrics"]["learning_rate"] == 1e-4


def test_another_version_of_trl(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from trl.experimental.async_grpo import async_grpo_trainer

    monkeypatch.delattr(async_grpo_trainer, "patch_chunked_lm_head")
    with pytest.raises(Failure, match=r"as in TRL 1\.13") as caught:
        refuse(recipe(model, [async_stage(3)]), 0)
    assert caught.value.reason == "version"


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_advantages_are_those_of_grpo(scale: str, model: str, plain_run: ScriptedDriver) -> None:
    """GRPOTrainer's advantages, from the rollouts that it logged."""
    # An ordinary run scales by group.
    driver = plain_run if scale == "group" else train(recipe(model, [grpo_stage(1, scale_rewards=scale)]))[0]
    rows = driver.steps[0]["rollouts"]
    scored = torch.tensor([[row["rewards"]["digits"], row["rewards"]["length"]] for row in rows])
    settings = {"scale_rewards": scale}
    own = group_advantages(scored, torch.tensor([1.0, 0.5]), 4, settings)
    assert own.tolist() == pytest.approx([row["advantage"] for row in rows], abs=1e-5)


def test_advantages_without_all_rewards() -> None:
    nan = float("nan")
    scored = torch.tensor(
        [[1.0, nan], [0.0, nan], [nan, nan], [0.5, 1.0], [nan, nan], [nan, nan], [nan, 2.0], [nan, nan]]
    )
    own = group_advantages(scored, torch.tensor([1.0, 0.5]), 4, {"scale_rewards": "none"}).tolist()
    mean = (1 + 0 + 1) / 3
    assert own == pytest.approx([1 - mean, -mean, 0, 1 - mean, 0, 0, 0, 0], abs=1e-6)
    maxrl = group_advantages(scored, torch.tensor([1.0, 0.5]), 4, {"advantage_estimator": "maxrl"}).tolist()
    assert maxrl == pytest.approx([value / (mean + 1e-6) for value in own], abs=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stage": {"beta": 0.1}}, '"beta"'),
        ({"stage": {"loss_type": "cispo"}}, '"loss_type"'),
        ({"stage": {"num_iterations": 2, "max_staleness": 4}}, '"num_iterations"'),
        ({"stage": {"importance_sampling_level": "sequence"}}, '"importance_sampling_level"'),
        ({"stage": {"trainer": {"top_k": 3}}}, '"top_k" of "trainer"'),
        ({"pytorch": {"processes": 2}}, "one process"),
        ({"pytorch": {"lora": {"r": 4}}}, '"lora"'),
        ({"pytorch": {"vllm": {"mode": "colocate"}}}, '"vllm"'),
        ({"environment": {"file": "a.py"}}, "environment"),
    ],
)
def test_what_cannot_be_combined(change: dict[str, Any], message: str, model: str) -> None:
    stage = async_stage(3, **{"max_staleness": 1, **change.get("stage", {})})
    settings = {"environment": change["environment"]} if "environment" in change else {}
    whole = {**recipe(model, [stage], pytorch=change.get("pytorch", {})), **settings}
    with pytest.raises(Failure, match=message):
        refuse(whole, 0)
