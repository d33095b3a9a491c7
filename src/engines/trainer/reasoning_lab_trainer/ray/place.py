"""Location of a run on the cluster, and transfer of its inputs."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..failure import Failure
from .settings import Settings

DATA = "{{data}}"
"""Placeholder for the packed data folder in data from the driver. Must match `src/engines/driver/ray/jobPackage.ts`."""


@dataclass(frozen=True)
class Place:
    """Run location. `run`: the run folder; `sidecar`: the folder for files from the run's jobs; `shared`: whether the
    remote driver can see both.
    """

    run: Path
    sidecar: Path
    shared: bool

    @property
    def data(self) -> Path:
        return self.sidecar / "data"


def read_json(path: Path) -> dict[str, Any] | None:
    """Reads a JSON object, or returns None if there is none."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def write_whole(path: Path, text: str) -> None:
    """Replaces a file atomically."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    aside.write_text(text, "utf-8")
    os.replace(aside, path)


def find_place(settings: Settings, home: Path | None = None) -> Place:
    """Creates the run's location and returns it: the storage set in the recipe, or the storage on the driver's machine
    if it is shared, or else a folder in the current user's home. Raises Failure `denied` if the location is not
    writable.
    """
    storage = Path(settings.storage)
    nonce = (read_json(storage / f"{settings.id}.ray" / "place.json") or {}).get("nonce")
    shared = nonce == settings.nonce
    if not shared and not settings.named:
        storage = (home or Path.home()) / ".reasoning-lab" / "ray"
    sidecar = storage / f"{settings.id}.ray"
    try:
        sidecar.mkdir(mode=0o700, parents=True, exist_ok=True)
        (storage / settings.id).mkdir(exist_ok=True)
    except OSError as error:
        raise Failure(
            "denied",
            f"The cluster cannot write to folder {storage}: {error.strerror}.",
            'Set "storage" in the ray settings of the recipe to a folder that all cluster nodes can write to.',
        ) from error
    return Place(storage / settings.id, sidecar, shared)


def prepare(settings: Settings, place: Place, package: Path) -> None:
    """Copies recipe, rewards and data from the job package to the run's location. Keeps files that an earlier job
    copied, so that a resumed run reads the same data. Raises Failure `missing`.
    """
    if settings.resume and not (place.run / "run.json").exists():
        raise Failure(
            "missing",
            f"The run to resume no longer exists at {place.run} on the cluster.",
            "Start a new run from one of the remaining checkpoints.",
        )
    for asset in settings.assets:
        if asset.packed is None and not Path(asset.origin).exists():
            size = "" if asset.bytes < 0 else f" and is too large to transfer ({asset.bytes / 1e6:.0f} MB)"
            raise Failure(
                "missing",
                f"{asset.origin} is not on the cluster{size}.",
                "Copy it to a location that the cluster nodes can read, and use that path in the recipe.",
            )
    if (package / "data").is_dir():
        shutil.copytree(package / "data", place.data, dirs_exist_ok=True)
    if not (place.run / "recipe.json").exists():
        if (package / "run" / "rewards").is_dir():
            shutil.copytree(package / "run" / "rewards", place.run / "rewards", dirs_exist_ok=True)
        recipe = json.loads((package / "run" / "recipe.json").read_text("utf-8"))
        write_whole(place.run / "recipe.json", json.dumps(placed(recipe, place), indent="\t") + "\n")


def placed(value: Any, place: Place) -> Any:
    """Replaces the data folder placeholder in a JSON value."""
    if isinstance(value, str):
        return f"{place.data}{value[len(DATA) :]}" if value == DATA or value.startswith(f"{DATA}/") else value
    if isinstance(value, list):
        return [placed(entry, place) for entry in value]
    if isinstance(value, dict):
        return {key: placed(entry, place) for key, entry in value.items()}
    return value


def announce(settings: Settings, place: Place) -> None:
    """Writes a marker file. A driver that can see the file knows that this job uses the same folder."""
    seen = {"nonce": settings.nonce, "seen": settings.submission}
    write_whole(place.sidecar / "place.json", json.dumps(seen))


def write_failed(place: Place, submission: str, failure: Failure) -> None:
    """Writes the reason for a job's failure next to the run. The remote driver reads it if it can see the storage."""
    write_whole(place.sidecar / "failed.json", json.dumps({"submission": submission, **failure.data()}))


def read_failed(place: Place, submission: str) -> Failure | None:
    """Returns the recorded failure of this job, or None if the job has not failed."""
    data = read_json(place.sidecar / "failed.json")
    if data is None or data.get("submission") != submission:
        return None
    return Failure(data.get("reason", "internal"), str(data.get("message", "")), data.get("action"))
