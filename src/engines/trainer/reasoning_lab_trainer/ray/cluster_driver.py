"""Starts the run's driver on the cluster, as a Node.js child process of rank 0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from ..failure import Failure
from .node_program import find_node
from .place import Place

BUSY_SECONDS = 90.0
"""Maximum time, in seconds, to wait for a previous attempt's driver to release its lock. A lock from another machine
expires after 30 s.
"""
END_SECONDS = 120.0


class ClusterDriver:
    """
    Runs `src/engines/driver/main.ts` with `--join`, so the trainer connects to the driver's socket. The driver exits
    when the run ends, or when this process exits, which closes the driver's standard input.
    """

    def __init__(self, program: Path, place: Place, parent_checkpoint: str | None) -> None:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            self._last: list[str] = []
            self._process = self._start(program, place, parent_checkpoint)
            announced = self._announcement()
            if announced is not None:
                self.socket, self.token = announced
                return
            code = self._process.wait()
            words = " ".join(self._last[-3:]).strip()
            if "in use by" in words and time.monotonic() < deadline:
                time.sleep(1)
                continue
            raise Failure(
                "invalid" if code == 2 else "internal",
                words or f"The run's driver exited with code {code} before it started.",
            )

    def _start(self, program: Path, place: Place, parent_checkpoint: str | None) -> subprocess.Popen[str]:
        begin = ["--parent-checkpoint", parent_checkpoint] if parent_checkpoint is not None else ["--resume"]
        if (place.run / "run.json").exists():
            begin = ["--resume"]
        home = place.sidecar / "home"
        home.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [find_node(), str(program), "--run", str(place.run), "--join", *begin, "--requests", str(place.sidecar)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            # Keep this run out of the user's run lists, which already include the remote run.
            env={**os.environ, "REASONING_LAB_HOME": str(home), "REASONING_LAB_PYTHON": sys.executable},
        )
        threading.Thread(target=self._forward, args=(process,), name="driver-stderr", daemon=True).start()
        return process

    def _forward(self, process: subprocess.Popen[str]) -> None:
        for line in process.stderr or []:
            self._last.append(line.strip())
            del self._last[:-20]
            print(f"driver: {line}", end="", file=sys.stderr, flush=True)

    def _announcement(self) -> tuple[str, str] | None:
        line = self._process.stdout.readline() if self._process.stdout else ""
        try:
            value = json.loads(line)
            return value["socket"], value["token"]
        except (ValueError, KeyError, TypeError):
            return None

    def close(self) -> None:
        """Waits for the driver to exit after the trainer has reported that it is done or cannot continue."""
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        if self._process.stdin:
            self._process.stdin.close()
