"""Link messages. Must match `src/protocol/trainerLink.ts`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

PROTOCOL = 1

SOCKET_VARIABLE = "REASONING_LAB_TRAINER_SOCKET"
TOKEN_VARIABLE = "REASONING_LAB_TRAINER_TOKEN"
SCRATCH_VARIABLE = "REASONING_LAB_TRAINER_SCRATCH"


class Problem(TypedDict):
    """A problem before a template is applied."""

    index: int
    prompt: str
    answer: Any
    solution: str | None
    row: dict[str, Any]
    image: NotRequired[bytes]
    """Bytes of the row's picture, if the dataset stores the picture itself. Never sent over the link."""


class RunName(TypedDict):
    id: str
    name: str
    folder: str


class StagePlace(TypedDict):
    """Position in a run. `step` is the number of updates completed in the stage."""

    index: int
    step: int


class Resume(TypedDict):
    checkpoint: str
    step: int
    stage: StagePlace
    state: dict[str, Any]
    sameRun: bool


class Column(TypedDict):
    name: str
    weight: float
    file: str | None


class Assignment(TypedDict):
    """The trainer's initial assignment."""

    mode: Literal["train", "serve"]
    run: RunName
    recipe: dict[str, Any] | None
    columns: list[Column]
    resume: Resume | None
    newModel: dict[str, Any] | None
    problems: bool


Order = dict[str, Any]
"""A command from the driver. `do` selects the command; see `orderSchema`."""


class ScoreRow(TypedDict, total=False):
    prompt: str
    completion: str
    answer: Any
    row: dict[str, Any]
    truncated: bool
    completionIds: list[int]
    messages: dict[str, list[Any]]


class ScoredRow(TypedDict):
    rewards: dict[str, float | None]
    errors: dict[str, str] | None
    reward: float | None
