"""Python reward files that run inside the trainer, if the recipe says so: faster, but without limits."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ..course.fence import fenced
from ..failure import Failure
from ..link.messages import Column, ScoreRow

HOST = "_reward_host"
"""The reward host package, which loads reward files and calls them like TRL."""


class InProcessRewards:
    """
    What a reward does here the trainer does: one that never returns hangs it, and one that raises ends the run. Only
    the random numbers of training are kept from it.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._files = host_module("reward_file")
        self._scoring = host_module("scoring")
        self._trainer = host_module("trainer")
        loaded: dict[str, dict[str, Any]] = {}
        self._rewards: list[tuple[Column, Any]] = []
        for column in columns:
            path = column["file"] or ""
            if path not in loaded:
                loaded[path] = self._load(path)
            self._rewards.append((column, reward_of(loaded[path], column)))

    def score(self, rows: Sequence[ScoreRow], step: int) -> tuple[dict[str, list[float | None]], dict[str, float]]:
        """Values of each column, and means of what rewards logged. Raises Failure where a reward does."""
        known: dict[str, list[float | None]] = {}
        metrics = self._trainer.Metrics()
        for column, reward in self._rewards:
            given = self._scoring.arguments(reward, list(rows), step, metrics)
            try:
                with fenced():
                    returned = self._scoring.call(reward, given)
            except Exception as error:
                fault = self._scoring.fault_of(error, column["file"])
                raise failed(column, fault["message"], fault.get("line")) from error
            values, errors = self._scoring.check(returned, len(rows))
            if errors:
                raise failed(column, errors[0]["message"], None)
            known[column["name"]] = values
        return known, metrics.means()

    def _load(self, path: str) -> dict[str, Any]:
        try:
            with fenced():
                return self._files.load(path)
        except self._files.LoadFault as fault:
            line = f", line {fault.data['line']}" if "line" in fault.data else ""
            raise Failure(
                "invalid", f"The reward file {path}{line}: {fault.data['message']}.", fault.data.get("action")
            ) from fault


def reward_of(rewards: dict[str, Any], column: Column) -> Any:
    """The function of a column, which is named after it, or, where that name was taken, after file and function."""
    name = column["name"]
    found = rewards.get(name) or rewards.get(name.rpartition(".")[2])
    if found is None:
        raise Failure("missing", f'The reward file {column["file"]} has no reward "{name}".')
    return found


def failed(column: Column, message: str, line: int | None) -> Failure:
    place = f"{column['file']}, line {line}" if line is not None else f"{column['file']}"
    return Failure(
        "invalid",
        f'The reward "{column["name"]}" ({place}) failed inside the trainer: {message}.',
        'Fix it, or set "rewards" in "pytorch" to "hosts", where a failing reward pauses the run.',
    )


def host_module(name: str) -> ModuleType:
    """A module of the reward hosts' package, which lies beside this one. Raises Failure `missing`."""
    try:
        return import_module(f"{HOST}.{name}")
    except ModuleNotFoundError:
        pass
    beside = Path(__file__).resolve().parents[3]
    # In the extension, and among the sources.
    for folder in (beside / "python", beside.parent / "rewards" / "python"):
        if (folder / HOST).is_dir():
            sys.path.append(os.fspath(folder))
            return import_module(f"{HOST}.{name}")
    raise Failure(
        "missing",
        "Rewards cannot run inside this trainer: the reward host package is missing.",
        'Set "rewards" in "pytorch" of the recipe to "hosts".',
    )
