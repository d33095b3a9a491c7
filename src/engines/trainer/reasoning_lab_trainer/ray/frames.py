"""
Reports a job's data through its log, for a remote driver that cannot see the storage. Each report is a line with a
prefix and a JSON object, as read by `src/engines/driver/ray/logFrames.ts`.
"""

from __future__ import annotations

import base64
import json
import os
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

PREFIX = "@reasoning-lab "
LINES_AT_ONCE = 8 << 10
"""Approximate number of text bytes per frame. Ray transmits its log in chunks of 20 kB."""
PART = 9 << 10
"""Number of compressed file bytes per frame. base64 adds a third."""
GROWING = ("events.jsonl", "metrics.jsonl")
STEP = re.compile(r"step_\d{6,15}")
EVALUATION = re.compile(r"\w[\w.-]{0,99}\.jsonl?")

Emit = Callable[[dict[str, Any]], None]


def print_frame(frame: dict[str, Any]) -> None:
    """Writes a frame to standard output in a single call, because other threads and processes write there too."""
    os.write(1, f"\n{PREFIX}{json.dumps(frame, separators=(',', ':'))}\n".encode())


class GrowingFile:
    """A line-based file. Each complete line is returned exactly once."""

    def __init__(self, root: Path, name: str) -> None:
        self._path = root / name
        self._name = name
        self._position = 0
        self._identity: tuple[int, int] | None = None

    def replaced(self) -> bool:
        """Returns whether the file was replaced or truncated."""
        try:
            info = self._path.stat()
        except OSError:
            return self._position > 0
        known = self._identity
        self._identity = (info.st_dev, info.st_ino)
        return info.st_size < self._position or (known is not None and known != self._identity and self._position > 0)

    def rewind(self) -> None:
        self._position = 0

    def news(self) -> Iterator[dict[str, Any]]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except OSError:
            return
        end = data.rfind(b"\n") + 1
        start = 0
        while start < end:
            cut = data.find(b"\n", min(start + LINES_AT_ONCE, end) - 1) + 1 or end
            text = data[start:cut].decode("utf-8", "replace")
            yield {"k": "lines", "file": self._name, "at": self._position, "text": text}
            self._position += cut - start
            start = cut


class FolderStream:
    """Transmits a growing run folder. `tell` is called repeatedly, always from the same thread. `growing`: line-based
    files; `whole`: files that are written only once. Paths are relative to the folder and use `/` as the separator.
    """

    def __init__(
        self,
        root: Path,
        emit: Emit = print_frame,
        growing: Sequence[str] = GROWING,
        whole: Callable[[Path], Iterator[str]] | None = None,
    ) -> None:
        self._root = root
        self._emit = emit
        self._growing = [GrowingFile(root, name) for name in growing]
        self._list = whole or whole_files
        self._whole: dict[str, tuple[int, int]] = {}
        self._record = ""

    def tell(self) -> None:
        """Emits new data: line-based files first, then whole files, then run.json."""
        replaced = [file.replaced() for file in self._growing]
        if any(replaced):
            self._emit({"k": "reset"})
            for file in self._growing:
                file.rewind()
        self._tell_whole()
        for file in self._growing:
            for frame in file.news():
                self._emit(frame)
        try:
            record = (self._root / "run.json").read_text("utf-8")
        except OSError:
            return
        if record != self._record:
            self._record = record
            self._emit({"k": "record", "text": record})

    def _tell_whole(self) -> None:
        found: dict[str, tuple[int, int]] = {}
        for path in self._list(self._root):
            try:
                info = (self._root / path).stat()
            except OSError:
                continue
            found[path] = (info.st_size, info.st_mtime_ns)
        for path in self._whole.keys() - found.keys():
            self._emit({"k": "gone", "path": path})
        for path in sorted(found.keys(), key=lambda path: (found[path][1], path)):
            if self._whole.get(path) == found[path]:
                continue
            try:
                packed = zlib.compress((self._root / path).read_bytes(), 6)
            except OSError:
                del found[path]
                continue
            parts = max(1, -(-len(packed) // PART))
            for part in range(parts):
                data = base64.b64encode(packed[part * PART : (part + 1) * PART]).decode("ascii")
                self._emit({"k": "file", "path": path, "part": part, "parts": parts, "data": data})
        self._whole = found


def whole_files(root: Path) -> Iterator[str]:
    """Yields the run files that are written only once. Paths are relative and use `/` as the separator. An evaluation's
    summary comes after its lines.
    """
    for name in names_in(root / "rollouts"):
        if name.endswith(".jsonl") and STEP.fullmatch(name[: -len(".jsonl")]):
            yield f"rollouts/{name}"
    for step in names_in(root / "evaluations"):
        if STEP.fullmatch(step):
            for name in names_in(root / "evaluations" / step):
                if EVALUATION.fullmatch(name):
                    yield f"evaluations/{step}/{name}"


def names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


class StreamThread:
    """Transmits a folder in the background until closed."""

    def __init__(self, stream: FolderStream, seconds: float = 1.0) -> None:
        self._stream = stream
        self._seconds = seconds
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="run-stream", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(self._seconds):
            self._stream.tell()

    def close(self) -> None:
        """Stops after everything has been transmitted."""
        self._end.set()
        self._thread.join()
        self._stream.tell()
