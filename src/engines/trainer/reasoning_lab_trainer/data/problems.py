"""A run's problems, either requested from the driver or read here from a file or Hub dataset."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..failure import Failure
from ..link.messages import Problem
from .answers import gold_text
from .hashing import Epochs, Random
from .pictures import content_of
from .presets import MISSING, Columns, cell, row_parts
from .source import Numbered, Source, plain, read_rows, word_of_place
from .split import held_out, prompt_key

CHUNK = 4096
"""Maximum number of problems per request to the driver."""

AHEAD = 512
"""Number of training problems to prefetch. A batch uses a few dozen."""


class Problems(ABC):
    """Source of a run's problems. The n-th training problem never changes, so the cursor is a single number."""

    total: int | None
    """Training problems per epoch, or None if unlimited."""

    @abstractmethod
    def training(self, start: int, count: int) -> list[Problem]:
        """Returns problems `start` (inclusive) to `start + count` (exclusive) from the stream. Each epoch of rows is
        shuffled separately.
        """

    @abstractmethod
    def held_out(self, count: int) -> list[Problem]:
        """Returns the first `count` problems of a fixed list that does not depend on the seed, or fewer if the list is
        shorter.
        """


class DriverProblems(Problems):
    """Problems requested from the driver. All ranks must request the same problems at the same time."""

    def __init__(self, ask: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
        self._ask = ask
        self._held_out: list[Problem] = []
        self._window: list[Problem] = []
        self._start = 0
        """Position of the first problem in the window."""
        self.total = self._part("training", 0, 0)["total"]

    def _part(self, split: str, start: int, count: int) -> dict[str, Any]:
        return self._ask("data/problems", {"split": split, "from": start, "count": count})

    def training(self, start: int, count: int) -> list[Problem]:
        if start < self._start or start + count > self._start + len(self._window):
            self._window = self._fetched(start, count)
            self._start = start
        first = start - self._start
        return self._window[first : first + count]

    def _fetched(self, start: int, count: int) -> list[Problem]:
        """Fetches at least `count` problems. Needs several requests if problems are large, because the driver limits
        reply sizes.
        """
        found: list[Problem] = []
        while len(found) < count:
            wanted = min(CHUNK, max(count, AHEAD) - len(found))
            part = self._part("training", start + len(found), wanted)["problems"]
            if not part:
                raise Failure("internal", f"The driver did not return training problem {start + len(found)}.")
            found += part
        return found

    def held_out(self, count: int) -> list[Problem]:
        if len(self._held_out) < count:
            self._held_out = self._part("heldout", 0, count)["problems"]
        return self._held_out[:count]


class RowProblems(Problems):
    """Dataset rows, in the same order as in the embedded engine."""

    def __init__(self, name: str, training: Sequence[Problem], held: Sequence[Problem], seed: int) -> None:
        if not training or not held:
            side, other = ("train on", "held out") if not training else ("hold out", "trained on")
            raise Failure(
                "invalid",
                f"The dataset {name} leaves no rows to {side}: all are {other}.",
                'Add rows, change "heldOutShare", or use a "heldOut" file with different prompts.',
            )
        self.total = len(training)
        self._training = training
        self._epochs = Epochs(len(training), seed)
        self._held = Random("held-out").shuffle(list(held))

    @property
    def held_out_total(self) -> int:
        return len(self._held)

    def training(self, start: int, count: int) -> list[Problem]:
        return [self._training[self._epochs.at(place)] for place in range(start, start + count)]

    def held_out(self, count: int) -> list[Problem]:
        return self._held[:count]


@dataclass(frozen=True)
class _Read:
    key: str
    problem: Problem


def read_problems(source: Source, columns: Columns) -> list[_Read]:
    """Reads all problems from a source. Raises the same failures as `read_rows`, or `invalid` for the first bad row."""
    return [_read(numbered, source, columns) for numbered in read_rows(source)]


def _read(numbered: Numbered, source: Source, columns: Columns) -> _Read:
    row = numbered.row

    def fault(message: str, action: str) -> Failure:
        return Failure("invalid", f"{source.name}, {word_of_place(source)} {numbered.number}, {message}.", action)

    for role, column in columns.needed:
        if cell(row, column) is MISSING:
            others = ", ".join(list(row)[:8])
            raise fault(
                f'has no column "{column}" ({f"it has {others}" if others else "it has no columns"})',
                f'Set "{role}" in the recipe\'s dataset to the name of the column.',
            )
    parts = row_parts(row, columns)
    if not isinstance(parts.prompt, str):
        if columns.reading == "countdown":
            raise fault(
                f'has a "{columns.prompt}" that is not a list of integers',
                "Write the numbers as a list, such as [3, 4, 5].",
            )
        raise fault(
            f'has a "{columns.prompt}" that is neither a string nor a list of system and user messages',
            'Write the prompt as a string, or as [{"role": "user", "content": ...}].',
        )
    if not prompt_key(parts.prompt):
        raise fault(f'has an empty "{columns.prompt}"', "Add a prompt, or remove the row.")
    if parts.answer is MISSING:
        mark = '"####" before the answer' if columns.reading == "hashes" else "\\boxed{} around the answer"
        raise fault(
            f'has no {mark} in column "{columns.answer}"', 'Fix the row, or set the column names instead of "preset".'
        )
    answer = gold_text(parts.answer)
    if answer is None and parts.answer is not None:
        raise fault(
            f'has an "{columns.answer}" that cannot be compared',
            "Use a string or a number, or null if the answer is unknown.",
        )
    solution = None if parts.solution is MISSING else parts.solution
    if solution is not None and not isinstance(solution, str):
        raise fault(f'has a "{columns.solution}" that is not a string', "Make the solution a string, or omit it.")
    problem: Problem = {
        "index": numbered.number - 1,
        "prompt": parts.prompt,
        "answer": answer,
        "solution": solution,
        "row": plain(parts.row),
    }
    if columns.image is not None and (content := content_of(cell(row, columns.image))) is not None:
        problem["image"] = content
    return _Read(_key(problem, columns), problem)


def _key(problem: Problem, columns: Columns) -> str:
    """Identifies a problem by its prompt and, if it has a picture, by the picture's contents or path."""
    key = prompt_key(problem["prompt"])
    if columns.image is None:
        return key
    if "image" in problem:
        return f"{key}\n{_content_hash(problem['image'])}"
    image = cell(problem["row"], columns.image)
    path = image.get("path") if isinstance(image, dict) else image
    # Keys of prompts contain no line breaks.
    return f"{key}\n{path}" if isinstance(path, str) else key


def split_rows(rows: Sequence[_Read], held_rows: Sequence[_Read] | None, share: float) -> tuple[list, list]:
    """Splits problems into training and held-out. If there is a held-out file, its prompts are removed from the
    training rows; otherwise a hash of the prompt decides. The held-out split contains each prompt only once.
    """
    if held_rows is None:
        tests = held_out([row.key for row in rows], share)
        candidates = [row for row, test in zip(rows, tests, strict=True) if test]
    else:
        keys = {row.key for row in held_rows}
        tests = [row.key in keys for row in rows]
        candidates = list(held_rows)
    unique: dict[str, _Read] = {}
    # As in TypeScript, duplicate prompts keep the first row's contents at the last row's position.
    for row in reversed(candidates):
        unique[row.key] = row
    training = [row.problem for row, test in zip(rows, tests, strict=True) if not test]
    return training, [row.problem for row in reversed(unique.values())]


def sources_of(dataset: dict[str, Any]) -> tuple[Source, Source | None]:
    """Returns the sources of a resolved recipe's training and held-out problems."""
    source = Source(dataset["path"], dataset.get("config"), dataset.get("split") or "train")
    named = dataset.get("heldOut")
    if named is None:
        return source, None
    held = Source(named)
    # With a Hub id, a name without slashes is a split of that dataset.
    if source.on_hub and held.kind is None and "/" not in named:
        return source, Source(source.path, source.config, named)
    return source, held


def open_row_problems(recipe: dict[str, Any]) -> RowProblems:
    """Reads the dataset in a resolved recipe. Raises the same failures as `read_problems`."""
    dataset = recipe["dataset"]
    columns = Columns.of(dataset)
    source, held_source = sources_of(dataset)
    excluded = {prompt_key(prompt) for prompt in dataset.get("exclude") or []}
    rows = [row for row in read_problems(source, columns) if prompt_key(row.problem["prompt"]) not in excluded]
    held_rows = None if held_source is None else read_problems(held_source, columns)
    training, held = split_rows(rows, held_rows, dataset["heldOutShare"])
    return RowProblems(source.name, training, held, recipe["seed"])


def problems_hash(problems: RowProblems) -> str:
    """Returns a SHA-256 hash of all problems, used to check whether two runs trained on the same data."""
    digest = hashlib.sha256()
    for side in (problems._training, problems.held_out(problems.held_out_total)):
        for problem in side:
            digest.update(json.dumps(problem, sort_keys=True, default=_content_hash).encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _content_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
