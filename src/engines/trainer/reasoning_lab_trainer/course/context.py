"""State of a single run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import Trainer

from ..data.pictures import Pictures
from ..failure import Failure
from ..gpu.metrics import device_metrics
from ..gpu.sampler import DeviceSampler
from ..link.client import Link
from ..link.forwarding import Forwarder
from ..link.messages import Assignment, Order, ScoredRow, ScoreRow
from .gate import Gate
from .stage import RunStopped, Stage, StageEnded
from .stopwatch import Stopwatch
from .world import World

if TYPE_CHECKING:
    from ..data.problems import Problems
    from ..models.policy import Policy
    from ..trl.in_process_rewards import InProcessRewards


@dataclass
class Active:
    """The active trainer."""

    stage: Stage
    trainer: Trainer


class Context:
    """Services that stage functions use. `policy` and `problems` exist before the first stage."""

    policy: Policy
    problems: Problems

    def __init__(self, link: Link | None, world: World, assignment: Assignment, scratch: Path) -> None:
        self.link = link
        self.world = world
        self.assignment = assignment
        self.recipe: dict[str, Any] = assignment["recipe"] or {}
        self.scratch = scratch
        """This process's temporary folder, removed on exit."""
        self.heads: dict[str, Any] = {}
        self.memory: dict[str, Any] = {}
        """JSON values that stages store in checkpoints in addition to weights."""
        self.active: Active | None = None
        self.boundary: dict[str, Any] | None = None
        """State as of the last gate at the end of a batch. None if a later update has changed the weights."""
        self.updating = False
        """Whether the optimizer is mid-update, leaving the weights in an intermediate state."""
        self.reference_file: tuple[Any, Path] | None = None
        self.tokens = 0
        self.tokens_before = 0
        """Number of tokens in earlier stages."""
        self.stopwatch = Stopwatch()
        self.first_step = 0
        """Number of updates in earlier stages."""
        self.first_problem = 0
        self.in_process_rewards: InProcessRewards | None = None
        self.pictures = Pictures.of(self.recipe)
        """The pictures of problems, or None if the dataset has none."""
        self.environment: Any = None
        """The recipe's environment (`OpenedEnvironment`), once a stage or an evaluation has opened it."""
        self.forwarder: Forwarder | None = None
        """Gives the other processes access to the driver."""
        self._device_sampler: DeviceSampler | None = None
        self._told: set[str] = set()
        self.gate = Gate(link, world, self._perform)
        self._performers: dict[str, Callable[[Order], Any]] = {}
        self.score_metrics: dict[str, float | None] = {}
        """Values logged by rewards, and the number of failed rows per reward, in the last scored batch."""

    def alert(self, level: str, message: str) -> None:
        """Notifies the user. Only rank 0 sends the notification."""
        if self.world.main and self.link is not None:
            self.link.call("alert", {"level": level, "message": message})
        elif self.world.main:
            print(f"{level}: {message}", file=sys.stderr)

    def report_once(self, what: str) -> bool:
        """Returns whether this is the first call for `what`."""
        first = what not in self._told
        self._told.add(what)
        return first

    def score(
        self,
        rows: Sequence[ScoreRow],
        step: int,
        known: dict[str, list[float | None]] | None = None,
    ) -> list[ScoredRow]:
        """Scores rows in a single request to the driver. Every rank calls it, and receives the scores for its own rows.
        Blocks while the run is paused because of a failing reward. Raises RunStopped if the
        run must end.
        """
        gathered = self.world.gather((list(rows), known or {}))
        all_rows = [row for of_rank, _ in gathered for row in of_rank]
        # Failed episodes are not scored, so ranks can have different numbers of rows.
        counts = self.world.broadcast([len(of_rank) for of_rank, _ in gathered])
        all_known = {name: [value for _, values in gathered for value in values[name]] for name in (known or {})}
        while True:
            params: dict[str, Any] = {"step": step, "rows": all_rows}
            if all_known:
                params["known"] = all_known
            answer = self.gate.ask("rewards/score", params)
            orders: list[Order] = answer.get("orders") or []
            if not orders:
                break
            verdict = self.gate.obey(orders)
            if verdict.decision != "continue":
                raise RunStopped if verdict.decision == "stop" else StageEnded
        scored: list[ScoredRow] = answer.get("rows") or []
        expected = sum(counts)
        if len(scored) != expected:
            raise Failure("internal", f"The driver returned scores for {len(scored)} of {expected} rows.")
        self.score_metrics = dict(answer.get("metrics") or {})
        first = sum(counts[: self.world.rank])
        return scored[first : first + len(rows)]

    @property
    def steps_done(self) -> int:
        """Returns the number of updates in the run so far."""
        return self.first_step if self.active is None else self.active.stage.first_step + self.active.stage.step

    def start_device_sampler(self) -> None:
        """Starts GPU sampling in all processes."""
        self._device_sampler = DeviceSampler.start()

    def close(self) -> None:
        if self._device_sampler is not None:
            self._device_sampler.close()
        if self.forwarder is not None:
            self.forwarder.close()

    def add_device_metrics(self, metrics: dict[str, float | None]) -> None:
        """Adds device metrics recorded since the previous step. Called on every rank."""
        if self._device_sampler is None:
            return
        takes = self.world.gather(self._device_sampler.take())
        metrics.update(device_metrics(takes))

    def next_stage(self, stage: Stage) -> None:
        """Ends the stage and advances the starting step and problem for the next one."""
        self.first_step = stage.first_step + stage.step
        self.first_problem = stage.first_problem + stage.problems_used

    def perform_with(self, do: str, perform: Callable[[Order], Any]) -> None:
        """Registers the handler for a command."""
        self._performers[do] = perform

    def _perform(self, order: Order) -> Any:
        do = order["do"]
        perform = self._performers.get(do)
        if perform is None:
            raise Failure("unsupported", f"The trainer does not support the command {do!r}.", "Update the trainer.")
        return perform(order)
