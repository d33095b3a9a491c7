"""Loads this process's rewards once, then scores batches with them. Requests and results follow
src/protocol/rewardHost.ts.
"""

import os
import time

from . import limits, module_file, reward_file, scoring, trainer
from .line_coverage import LineTracer


class Rewards:
    def __init__(self, capture, passing=()):
        """`passing`: exceptions that the reward did not cause, such as a cancellation."""
        self._capture = capture
        self._passing = passing
        self._rewards = {}
        self.file = None

    def load(self, params):
        """Raises LoadFault."""
        start = time.perf_counter()
        self.file = os.path.abspath(params["file"])
        os.environ.update(params.get("environment") or {})
        folder = params["context"]["folder"] or os.path.dirname(self.file)
        try:
            os.chdir(folder)
        except OSError as error:
            raise module_file.LoadFault(reason="missing", message=f"Cannot use folder {folder} ({error.strerror})")
        limits.limit_memory(params.get("memoryMb"))
        self._rewards = reward_file.load(self.file, self._passing)
        return {
            "rewards": [reward.describe() for reward in self._rewards.values()],
            "files": module_file.local_files(self.file),
            "logs": self._capture.next(),
            "durationMs": (time.perf_counter() - start) * 1000,
        }

    def score(self, params):
        """Scores a batch. Reward errors are part of the result."""
        reward = self._rewards.get(params["reward"])
        if reward is None:
            raise module_file.LoadFault(reason="missing", message=f"Reward \"{params['reward']}\" does not exist")
        rows = params["rows"]
        metrics = trainer.Metrics()
        given = scoring.arguments(reward, rows, params.get("step") or 0, metrics)
        tracer = LineTracer(self.file) if params.get("coverage") else None
        start = time.perf_counter()
        try:
            if tracer is None:
                returned = scoring.call(reward, given)
            else:
                with tracer:
                    returned = scoring.call(reward, given)
            values, errors = scoring.check(returned, len(rows))
        except self._passing:
            raise
        except BaseException as error:
            values, errors = [None] * len(rows), [scoring.fault_of(error, self.file)]
        duration = (time.perf_counter() - start) * 1000
        reply = {"values": values, "errors": errors, "logs": self._capture.next(), "durationMs": duration}
        if tracer is not None:
            reply["coverage"] = tracer.result()
        means = metrics.means()
        if means:
            reply["metrics"] = means
        return reply
