"""Job settings: job.json from the job package, as written by `src/engines/driver/ray/jobPackage.ts`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..failure import Failure

FORMAT = 1


@dataclass(frozen=True)
class Asset:
    """A file or folder listed in the recipe. `packed`: its location under `data/`, or None if it is expected at its
    original path.
    """

    origin: str
    packed: str | None
    bytes: int


@dataclass(frozen=True)
class Settings:
    """Job settings. `storage`: the run's location, as named on the driver's machine; `nonce`: identifies the same
    folder across machines.
    """

    id: str
    submission: str
    storage: str
    named: bool
    nonce: str
    resume: bool
    parent_checkpoint: str | None
    workers: int
    cpus_per_worker: float
    gpus_per_worker: float
    restarts: int
    assets: tuple[Asset, ...]


def read_settings(package: Path) -> Settings:
    """Parses a package's job.json. Raises Failure `version` or `invalid`."""
    try:
        value: dict[str, Any] = json.loads((package / "job.json").read_text("utf-8"))
        if value["format"] != FORMAT:
            raise Failure(
                "version", f"The job uses format {value['format']}, but this trainer supports format {FORMAT}."
            )
        return Settings(
            id=value["id"],
            submission=value["submission"],
            storage=value["place"]["storage"],
            named=value["place"]["named"],
            nonce=value["place"]["nonce"],
            resume=value["resume"],
            parent_checkpoint=value["parentCheckpoint"],
            workers=value["workers"],
            cpus_per_worker=value["cpusPerWorker"],
            gpus_per_worker=value["gpusPerWorker"],
            restarts=value["restarts"],
            assets=tuple(Asset(asset["origin"], asset["packed"], asset["bytes"]) for asset in value["assets"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure("invalid", f"Cannot read job.json in the job package: {error}.") from error
