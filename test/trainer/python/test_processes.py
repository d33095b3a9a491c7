"""Two training processes: only rank 0 talks to the driver, and all of them carry out its commands."""

from __future__ import annotations

import multiprocessing
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from accelerate.state import AcceleratorState, GradientState, PartialState
from accelerate.utils import DistributedType
from reasoning_lab_trainer.course import training  # noqa: F401  Needed by the copies of this process.
from reasoning_lab_trainer.course.environment import joined_world
from reasoning_lab_trainer.course.run import run
from reasoning_lab_trainer.course.world import World
from reasoning_lab_trainer.trl.grpo import LabGRPOTrainer
from scripted_driver import CONTINUE, ScriptedDriver
from test_environment_contract import load
from test_environments import EnvironmentDriver, plain, recipe_with, scripted
from tiny_model import grpo_stage, make_model, recipe, rloo_stage
from tool_model import write_model

PATIENCE = 240


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def process(rank: int, port: int, driver: ScriptedDriver, pretend_gpus: bool) -> None:
    """Runs what torchrun would start, in a fork of this process that has everything loaded."""
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1"
    )
    os.environ["MASTER_PORT"] = str(port)
    # Reset state left by earlier tests in the process that was forked.
    for state in (AcceleratorState, PartialState, GradientState):
        state._reset_state()
    if pretend_gpus:
        # accelerate shards models only across GPUs, though torch can also do it across CPUs.
        plainly = PartialState.__init__

        def pretending(self: PartialState, *args: Any, **kwargs: Any) -> None:
            new = not PartialState._shared_state
            plainly(self, *args, **kwargs)
            if new:
                self.distributed_type = DistributedType.MULTI_GPU

        PartialState.__init__ = pretending
    os._exit(run(driver.link if rank == 0 else None, "token", joined_world()))


def train_by_two(driver: ScriptedDriver, pretend_gpus: bool) -> None:
    copies = multiprocessing.get_context("fork")
    port = free_port()
    processes = [copies.Process(target=process, args=(rank, port, driver, pretend_gpus)) for rank in range(2)]
    for each in processes:
        each.start()
    try:
        for each in processes:
            each.join(PATIENCE)
        assert [each.exitcode for each in processes] == [0, 0], driver.of("fault")
    finally:
        for each in processes:
            each.kill()
    assert driver.of("finished")


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_orders_reach_all_and_batches_come_from_all(strategy: str, tmp_path: Path) -> None:
    train_and_resume(strategy, tmp_path, resumes=strategy == "fsdp")


@pytest.mark.acceptance
def test_replicas_resume(tmp_path: Path) -> None:
    train_and_resume("ddp", tmp_path, resumes=True)


def train_and_resume(strategy: str, tmp_path: Path, *, resumes: bool) -> None:
    model = make_model(tmp_path / "model")
    folder = tmp_path / "checkpoint"
    # A sharded model is reassembled between two stages.
    stages = [grpo_stage(2)] if strategy == "ddp" else [rloo_stage(1), grpo_stage(1)]
    asked = recipe(model, stages, pytorch={"processes": 2, "strategy": strategy})
    waits = iter([True, True, False])

    def orders(method: str, params: dict[str, Any]) -> list[dict[str, Any]] | None:
        if method == "stage":
            order = {"do": "evaluate", "id": 1, "name": "heldout", "problems": 5, "samples": 2}
            return [{**order, "temperature": 1, "maxTokens": 4}]
        if method == "step" and params["step"] == 1:
            generate = {"prompts": ["1+1=", "22+"], "n": 2, "maxTokens": 3, "seed": 5}
            return [
                {"do": "checkpoint", "id": 2, "folder": str(folder)},
                {"do": "generate", "id": 3, "params": generate},
            ]
        # Stay paused for a while.
        if method == "run/orders" and next(waits, False):
            return [{"do": "wait"}]
        return None

    whole = ScriptedDriver(asked, orders=orders)
    train_by_two(whole, strategy == "fsdp")
    answers = {answer["id"]: answer for answer in whole.answers}
    assert not any("error" in answer for answer in answers.values()), answers
    samples = answers[1]["value"]["samples"]
    assert [(s["problem"], s["sample"]) for s in samples] == [(p, k) for p in range(5) for k in range(2)]
    assert [len(of_prompt) for of_prompt in answers[3]["value"]["completions"]] == [2, 2]
    assert len(whole.of("begin")) == 1 and whole.of("begin")[0]["processes"] == 2
    for step, scored in zip(whole.steps, whole.of("rewards/score"), strict=True):
        lines = step["rollouts"]
        assert [(line["group"], line["index"]) for line in lines] == [(g, i) for g in range(2) for i in range(4)]
        for group in range(2):
            assert len({line["prompt"] for line in lines if line["group"] == group}) == 1
        # A single request for the batch of both processes, in the order of the rollouts.
        assert [row["completion"] for row in scored["rows"]] == [line["completion"] for line in lines]
    assert {path.name for path in (folder / "trainer").glob("random_*")} == {"random_0.pt", "random_1.pt"}
    # A sharded model's parts are gathered in a file with a different name.
    assert (folder / "trainer" / ("optimizer.pt" if strategy == "ddp" else "optimizer.bin")).is_file(), sorted(
        folder.rglob("*")
    )

    if not resumes:
        return
    resume = {
        "checkpoint": str(folder),
        "step": 1,
        "stage": {"index": 0, "step": 1},
        "state": answers[2]["value"]["state"],
        "sameRun": True,
    }
    resumed = ScriptedDriver(asked, resume=resume)
    train_by_two(resumed, strategy == "fsdp")
    assert [step["rollouts"] for step in resumed.steps] == [step["rollouts"] for step in whole.steps[1:]]
    assert [step["metrics"]["loss"] for step in resumed.steps] == [step["metrics"]["loss"] for step in whole.steps[1:]]


def test_processes_play_their_own_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Same rollouts as with one process, although a group is split, one process has more failures than the other, and
    all episodes of a batch fail before it is played again.
    """
    model = write_model(tmp_path / "model")
    file, rows = load("guess", tmp_path)
    down = tmp_path / "down"
    gone = f"number == {rows[5]['number']} or __import__('os').path.exists({str(down)!r})"
    fault = f"        if {gone}: raise KeyError('gone')"
    place = "        # Everything comes from the row"
    file.write_text(file.read_text().replace(place, f"{fault}\n{place}"))
    monkeypatch.setattr(LabGRPOTrainer, "_generate_single_turn", scripted(rows, 3))
    reports: list[dict[str, Any]] = []

    def failed(self: EnvironmentDriver, params: dict[str, Any]) -> dict[str, Any]:
        reports.append(params)
        down.unlink()
        return {"orders": CONTINUE}

    def orders(method: str, params: dict[str, Any]) -> list[dict[str, Any]] | None:
        order = {"do": "evaluate", "id": 1, "name": "heldout", "problems": 3, "samples": 2}
        return [{**order, "temperature": 1, "maxTokens": 4}] if method == "stage" else None

    monkeypatch.setattr(EnvironmentDriver, "failed", failed, raising=False)

    def driver_for(processes: int) -> EnvironmentDriver:
        asked = recipe_with(model, 0.4)
        # The second of three groups is split between two processes.
        asked["stages"][0].update(prompts_per_step=3, credit_assignment="turn")
        asked["pytorch"] = {"processes": processes, "strategy": "ddp"}
        driver = EnvironmentDriver(asked, file)
        driver.orders = orders
        driver.problem = lambda index: {
            "index": index,
            "prompt": rows[index % len(rows)]["prompt"][0]["content"],
            "answer": rows[index % len(rows)]["answer"],
            "solution": None,
            "row": rows[index % len(rows)],
        }
        down.touch()
        return driver

    one, two = driver_for(1), driver_for(2)
    assert run(one.link, "token", World()) == 0, one.of("fault")
    down.touch()
    train_by_two(two, False)
    assert [(report["failed"], report["rows"], report["index"]) for report in reports] == [(6, 6, 0)] * 2
    for driver in (one, two):
        [samples] = [answer["value"]["samples"] for answer in driver.answers]
        assert [(sample["problem"], sample["sample"]) for sample in samples] == [
            (p, k) for p in range(3) for k in range(2)
        ]
        assert "2 of 6 episodes failed" in driver.of("alert")[0]["message"]
        assert driver.steps[1]["metrics"]["rewards/environment/errors"] == 2
    assert [(line["group"], line["index"]) for line in two.steps[0]["rollouts"]] == [
        (g, i) for g in range(3) for i in (0, 1)
    ]
    for ours, theirs in zip(two.steps, one.steps, strict=True):
        for line, other in zip(ours["rollouts"], theirs["rollouts"], strict=True):
            assert without_values(line) == without_values(other)
            assert line["tokens"]["advantage"] == pytest.approx(other["tokens"]["advantage"], abs=1e-6)
        for name in ("environment/turns", "environment/failed", "tools/call_frequency", "groups/dead"):
            assert ours["metrics"][name] == theirs["metrics"][name], name
        assert ours["metrics"]["grad_norm"] == pytest.approx(theirs["metrics"]["grad_norm"], rel=1e-4)
    # Three batches of six and the samples of three held-out problems. The other process answers for its own instances.
    played = [params.get("process", 0) for params in two.of("environment/reset")]
    assert [played.count(rank) for rank in range(2)] == [3 * 3 + 2 * 2, 3 * 3 + 2]
    assert {params.get("process", 0) for params in two.of("environment/reward")} == {0, 1}
    # An episode that failed has no reward.
    assert {line["rewards"]["environment"] for step in two.steps for line in step["rollouts"]} == {0.0, 1.0, None}


def without_values(line: dict[str, Any]) -> dict[str, Any]:
    """Returns a rollout without its timings and token values."""
    return {**plain(line), "tokens": line["tokens"]["text"], "advantage": round(line["advantage"], 5)}
