"""Ray Train worker. Rank 0 starts the driver, then all ranks run the regular trainer."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from ..failure import Failure
from ..loading import loading
from .cluster_driver import ClusterDriver
from .place import Place, read_json, write_failed, write_whole

PASSING = frozenset({"internal", "unavailable", "timeout"})
"""Reasons for failures that can be transient. Other failures would recur on other workers."""


def train(config: dict[str, Any]) -> None:
    """Runs on every worker, once per attempt. Called by Ray Train."""
    import ray.train

    rank = ray.train.get_context().get_world_rank()
    place = Place(Path(config["run"]), Path(config["sidecar"]), config["shared"])
    driver: ClusterDriver | None = None
    try:
        if rank == 0:
            driver = start_driver(place, config)
        # Check before loading anything: if the attempt is pointless, all ranks exit.
        if not everywhere(driver is not None):
            return
        note_worker(place, rank)
        run_course(rank, driver)
    finally:
        if driver is not None:
            driver.close()


def start_driver(place: Place, config: dict[str, Any]) -> ClusterDriver | None:
    """Starts this attempt's driver. Returns None if there is nothing left to do, or if the driver would fail for the
    same reason as in an earlier attempt.
    """
    submission = config["submission"]
    if not decide(place, submission):
        return None
    try:
        check_visible(place, config["nonce"])
        program = Path(__file__).parents[2] / "driver" / "driver.js"
        return ClusterDriver(program, place, config["parent_checkpoint"])
    except Failure as failure:
        if failure.reason in PASSING:
            raise
        write_failed(place, submission, failure)
        return None


def run_course(rank: int, driver: ClusterDriver | None) -> None:
    """Runs the regular trainer, like `python -m reasoning_lab_trainer`."""
    with loading():
        from ..course.environment import joined_world
        from ..course.run import run
        from ..link.client import Link
        from ..link.transport import connect

    link = None if driver is None else Link(connect(driver.socket))
    try:
        status = run(link, "" if driver is None else driver.token, joined_world())
    finally:
        if link is not None:
            link.close()
    if status:
        raise Failure("internal", f"The trainer on rank {rank} exited with code {status}.")


def check_visible(place: Place, nonce: str) -> None:
    """Checks that all nodes share the storage. Otherwise, checkpoints would be lost along with their node."""
    found = read_json(place.sidecar / "place.json") or {}
    if found.get("nonce") == nonce:
        return
    raise Failure(
        "missing",
        f"Node {socket.gethostname()} cannot see {place.run}, where the head node stores the run.",
        'Set "storage" in the ray settings of the recipe to a folder that all cluster nodes can see.',
    )


def note_worker(place: Place, rank: int) -> None:
    """Records each process's rank for cluster administrators."""
    note = {"rank": rank, "pid": os.getpid(), "host": socket.gethostname()}
    try:
        (place.sidecar / "workers").mkdir(exist_ok=True)
        write_whole(place.sidecar / "workers" / f"{rank}.json", json.dumps(note))
    except OSError as error:
        print(f"Cannot record the process of rank {rank}: {error}.", file=sys.stderr, flush=True)


def decide(place: Place, submission: str) -> bool:
    """Returns False if an earlier attempt of this job failed for a permanent reason."""
    mark = place.sidecar / f"{submission}.begun"
    if not mark.exists():
        mark.touch()
        return True
    record = read_json(place.run / "run.json") or {}
    if record.get("status") in ("finished", "stopped"):
        return False
    error = record.get("error")
    return not (record.get("status") == "crashed" and isinstance(error, dict) and error.get("reason") not in PASSING)


def everywhere(value: bool | None) -> bool:
    """Returns rank 0's value on every rank."""
    import torch.distributed as dist

    if not dist.is_initialized() or dist.get_world_size() == 1:
        return bool(value)
    box: list[bool | None] = [value]
    import torch

    device = torch.device("cuda", torch.cuda.current_device()) if dist.get_backend() == "nccl" else torch.device("cpu")
    dist.broadcast_object_list(box, src=0, device=device)
    return bool(box[0])
