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
from scripted_driver import ScriptedDriver
from tiny_model import grpo_stage, make_model, recipe, rloo_stage

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
