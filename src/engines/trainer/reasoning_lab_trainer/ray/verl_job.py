"""Entry point of a job that trains with verl. Copies rows and rewards to the run's location, then starts
`verl.trainer.main_ppo` with the translated settings.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from ..failure import Failure
from .frames import FolderStream, StreamThread, names_in, print_frame
from .place import Place, announce, find_place, prepare, write_failed
from .settings import Settings, read_settings

RUN = "{{run}}"
"""Placeholder for the run folder. Must match `src/engines/driver/ray/verlJob/verlOverrides.ts`."""


def main() -> int:
    """Returns the exit code: 0 if verl completed all steps, 2 otherwise."""
    package = Path.cwd()
    settings: Settings | None = None
    place: Place | None = None
    stream: StreamThread | None = None
    try:
        settings = read_settings(package)
        place = find_place(settings)
        bring(settings, place, package)
        announce(settings, place)
        if not place.shared:
            print_frame({"k": "place", "folder": str(place.run)})
            log = f"metrics/{settings.submission}.jsonl"
            stream = StreamThread(FolderStream(place.run, growing=(log,), whole=generations))
        run_verl(settings, place, package)
        return 0
    except Exception as error:
        failure = error if isinstance(error, Failure) else Failure("internal", f"{type(error).__name__}: {error}")
        if failure is not error:
            traceback.print_exc()
        print(f"{failure}", file=sys.stderr, flush=True)
        print_frame({"k": "failed", **failure.data()})
        if place is not None and settings is not None:
            write_failed(place, settings.submission, failure)
        return 2
    finally:
        if stream is not None:
            stream.close()


def bring(settings: Settings, place: Place, package: Path) -> None:
    """Writes the rows as Parquet and copies the rewards. Keeps files written by an earlier job. Raises Failure
    `missing`.
    """
    if importlib.util.find_spec("verl") is None:
        raise Failure(
            "missing",
            "verl is not installed on the cluster nodes.",
            'Install verl and vLLM on the nodes, or list them under "pip" in the ray settings of the recipe.',
        )
    if not settings.resume:
        prepare(settings, place, package)
    elif not (place.run / "recipe.json").exists():
        raise Failure(
            "missing", f"The run to resume no longer exists at {place.run} on the cluster.", "Start a new run."
        )
    for name in ("rollouts", "validation", "metrics", "checkpoints", "data"):
        (place.run / name).mkdir(exist_ok=True)
    for source in (package / "payload").glob("*.py"):
        if not (place.run / source.name).exists():
            shutil.copyfile(source, place.run / source.name)
    for name in ("train", "validation"):
        target = place.run / "data" / f"{name}.parquet"
        if not target.exists():
            write_parquet(package / "payload" / f"{name}.jsonl", target)


def write_parquet(source: Path, target: Path) -> None:
    """Converts JSONL rows to Parquet for verl."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with source.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    aside = target.with_suffix(".tmp")
    pq.write_table(pa.Table.from_pylist(rows), aside)
    os.replace(aside, target)


def run_verl(settings: Settings, place: Place, package: Path) -> None:
    """Runs verl. Raises Failure if it fails."""
    arguments = json.loads((package / "payload" / "arguments.json").read_text("utf-8"))
    data = str(place.data)
    arguments = [value.replace(RUN, str(place.run)).replace("{{data}}", data) for value in arguments]
    log = place.run / "metrics" / f"{settings.submission}.jsonl"
    # verl overwrites its log, so every job needs a separate file.
    environment = {**os.environ, "VERL_FILE_LOGGER_PATH": str(log)}
    status = subprocess.run(
        [sys.executable, "-m", "verl.trainer.main_ppo", *arguments], env=environment, check=False
    ).returncode
    if status != 0:
        raise Failure(
            "internal", f"verl exited with code {status}.", "See engine.log in the run folder for its output."
        )


def generations(root: Path) -> Iterator[str]:
    """Yields verl's completed rollout and validation files. verl writes one complete file after another."""
    for folder in ("rollouts", "validation"):
        for name in names_in(root / folder):
            if not re.fullmatch(r"\d{1,15}\.jsonl", name):
                continue
            path = f"{folder}/{name}"
            try:
                with (root / path).open("rb") as file:
                    file.seek(-1, os.SEEK_END)
                    whole = file.read(1) == b"\n"
            except OSError:
                continue
            if whole:
                yield path


if __name__ == "__main__":
    sys.exit(main())
