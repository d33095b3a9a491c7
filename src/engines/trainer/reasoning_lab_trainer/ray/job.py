"""Entry point of a Ray job. Determines the run's location, copies its inputs there, trains with Ray Train, and reports
the reason if it fails.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

from ..failure import Failure
from .frames import FolderStream, StreamThread, print_frame
from .place import Place, announce, find_place, placed, prepare, read_failed, read_json, write_failed
from .settings import Settings, read_settings
from .worker import PASSING, train


def main() -> int:
    """Returns the exit code: 0 if finished or stopped, 2 if rejected or failed for a reason that the user can fix."""
    package = Path.cwd()
    place: Place | None = None
    settings: Settings | None = None
    stream: StreamThread | None = None
    try:
        settings = read_settings(package)
        place = find_place(settings)
        prepare(settings, place, package)
        announce(settings, place)
        if not place.shared:
            print_frame({"k": "place", "folder": str(place.run)})
            stream = StreamThread(FolderStream(place.run))
        fit(settings, place)
        check_outcome(place, settings)
        return 0
    except Exception as error:
        failure = failure_of(error, place, settings)
        if failure.reason == "internal":
            traceback.print_exc()
        print(f"{failure}", file=sys.stderr, flush=True)
        print_frame({"k": "failed", **failure.data()})
        if place is not None and settings is not None:
            write_failed(place, settings.submission, failure)
        return 2
    finally:
        if stream is not None:
            stream.close()


def fit(settings: Settings, place: Place) -> None:
    """Trains on the workers. Ray replaces lost workers up to `restarts` times."""
    try:
        import ray
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchTrainer
    except ImportError as error:
        raise Failure(
            "missing",
            f"The cluster nodes are missing packages that the job requires: {error}.",
            'Install "ray[default,train]" and torch on the nodes, or list them under "pip" in the ray settings '
            "of the recipe.",
        ) from error
    ray.init(log_to_driver=True)
    warn_of_resources(settings, ray.cluster_resources())
    gpus = settings.gpus_per_worker
    resources = {"CPU": settings.cpus_per_worker, **({"GPU": gpus} if gpus > 0 else {})}
    trainer = TorchTrainer(
        train,
        train_loop_config={
            "run": str(place.run),
            "sidecar": str(place.sidecar),
            "shared": place.shared,
            "submission": settings.submission,
            "nonce": settings.nonce,
            "parent_checkpoint": placed_checkpoint(settings, place),
        },
        scaling_config=ScalingConfig(num_workers=settings.workers, use_gpu=gpus > 0, resources_per_worker=resources),
        run_config=RunConfig(
            name=settings.submission,
            storage_path=str(place.sidecar / "train"),
            failure_config=FailureConfig(max_failures=settings.restarts),
        ),
    )
    trainer.fit()


def placed_checkpoint(settings: Settings, place: Place) -> str | None:
    return None if settings.parent_checkpoint is None else str(placed(settings.parent_checkpoint, place))


def warn_of_resources(settings: Settings, has: dict[str, Any]) -> None:
    """Warns if the cluster has too few resources. This is not an error because the cluster can still grow."""
    for name, each in (("CPU", settings.cpus_per_worker), ("GPU", settings.gpus_per_worker)):
        wanted = each * settings.workers
        if wanted > has.get(name, 0):
            print(
                f"The run requests {wanted:g} {name}, but the cluster has {has.get(name, 0):g}. Waiting for more.",
                file=sys.stderr,
                flush=True,
            )


def error_of(place: Place) -> Failure | None:
    """Returns the failure recorded by the run, or None if it has not failed."""
    record = read_json(place.run / "run.json") or {}
    error = record.get("error")
    if record.get("status") != "crashed" or not isinstance(error, dict):
        return None
    return Failure(error.get("reason", "internal"), error.get("message", "The run crashed."), error.get("action"))


def check_outcome(place: Place, settings: Settings) -> None:
    failure = read_failed(place, settings.submission) or error_of(place)
    if failure is not None:
        raise failure
    status = (read_json(place.run / "run.json") or {}).get("status")
    if status not in ("finished", "stopped"):
        raise Failure("internal", f"The workers exited, but the run's status is {status}.")


def failure_of(error: Exception, place: Place | None, settings: Settings | None) -> Failure:
    """Returns the run's own failure if there is one, or else Ray's."""
    if isinstance(error, Failure):
        return error
    own: Failure | None = None
    if place is not None and settings is not None:
        own = read_failed(place, settings.submission) or error_of(place)
    if own is not None and own.reason not in PASSING:
        return own
    lost = getattr(error, "worker_failures", None)
    if isinstance(lost, dict):
        words = "; ".join(f"rank {rank}: {last_line(str(failure))}" for rank, failure in sorted(lost.items()))
        again = 'Resume the run from its newest checkpoint. "restarts" sets how many times workers can be replaced.'
        return Failure(
            "unavailable",
            'The run lost workers more times than "restarts" allows. ' + (words[:600] if own is None else own.message),
            (own and own.action) or again,
        )
    return own or Failure("internal", f"{type(error).__name__}: {last_line(str(error))[:400]}")


def last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


if __name__ == "__main__":
    sys.exit(main())
