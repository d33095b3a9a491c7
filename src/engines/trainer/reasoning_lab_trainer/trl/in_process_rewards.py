"""Runs Python reward files inside the trainer, if the recipe requests it: faster, but without limits."""

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
"""The reward host package, which loads reward files and calls them the way TRL does."""


class InProcessRewards:
    """
    Runs rewards in the trainer's process. A reward that never returns hangs the trainer, and one that raises an
    exception ends the run. Only the random number state used for training is protected.
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
        """Returns the values for each column, and the means of the metrics that the rewards logged. Raises Failure if a
        reward fails.
        """
        known: dict[str, list[float | None]] = {}
        metrics = self._trainer.Metrics()
        if not rows:
            # All episodes of this process failed. Reward functions are not written to handle empty batches.
            return {column["name"]: [] for column, _ in self._rewards}, {}
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
                "invalid", f"Reward file {path}{line}: {fault.data['message']}.", fault.data.get("action")
            ) from fault


def reward_of(rewards: dict[str, Any], column: Column) -> Any:
    """Returns the function for a column. The column is named after the function or, if that name was taken, after the
    file and the function.
    """
    name = column["name"]
    found = rewards.get(name) or rewards.get(name.rpartition(".")[2])
    if found is None:
        raise Failure("missing", f'Reward file {column["file"]} has no reward "{name}".')
    return found


def failed(column: Column, message: str, line: int | None) -> Failure:
    place = f"{column['file']}, line {line}" if line is not None else f"{column['file']}"
    return Failure(
        "invalid",
        f'Reward "{column["name"]}" ({place}) failed inside the trainer: {message}.',
        'Fix the reward, or set "rewards" in "pytorch" to "hosts", where a failing reward only pauses the run.',
    )


def host_module(name: str) -> ModuleType:
    """Imports a module from the reward host package, which is installed next to this one. Raises Failure `missing`."""
    try:
        return import_module(f"{HOST}.{name}")
    except ModuleNotFoundError:
        pass
    beside = Path(__file__).resolve().parents[3]
    # Location in the extension, then in the source tree.
    for folder in (beside / "python", beside.parent / "rewards" / "python"):
        if (folder / HOST).is_dir():
            sys.path.append(os.fspath(folder))
            return import_module(f"{HOST}.{name}")
    raise Failure(
        "missing",
        "Rewards cannot run inside this trainer because the reward host package is missing.",
        'Set "rewards" under "pytorch" in the recipe to "hosts".',
    )
