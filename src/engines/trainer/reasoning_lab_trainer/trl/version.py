"""Checks whether the installed TRL version is supported."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from ..failure import Failure

KNOWN = (1, 13)
"""Major and minor version of TRL that this engine was tested with."""

NEEDED: dict[str, tuple[str, tuple[str, ...]]] = {
    "trl.trainer.grpo_trainer": (
        "GRPOTrainer",
        (
            "_generate",
            "_generate_and_score_completions",
            "_calculate_rewards",
            "_get_per_token_logps_and_entropies",
            "compute_loss",
            "training_step",
        ),
    ),
    "trl.trainer.rloo_trainer": (
        "RLOOTrainer",
        ("_generate", "_generate_and_score_completions", "_calculate_rewards", "_get_per_token_logps_and_entropies"),
    ),
    "transformers": (
        "Trainer",
        ("_get_grad_norm", "_load_from_checkpoint", "_load_rng_state", "_save_optimizer_and_scheduler", "_save_scaler"),
    ),
}
"""Methods that this engine overrides. If one is missing, training works, but the run lacks the data that the method
records.
"""


def check_version() -> None:
    """Raises Failure `version` with the version to install if TRL lacks a method that this engine overrides."""
    installed = trl_version()
    for module, (name, methods) in NEEDED.items():
        try:
            owner = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise unknown(installed, f"it has no {module}.{name}") from error
        for method in methods:
            if not callable(getattr(owner, method, None)):
                raise unknown(installed, f"{name} has no {method}")
    for module in ("trl.trainer.grpo_trainer", "trl.trainer.rloo_trainer"):
        if not callable(getattr(import_module(module), "create_model_from_path", None)):
            raise unknown(installed, f"{module} has no create_model_from_path")


def trl_version() -> str:
    """Returns the installed TRL version. Raises Failure `unavailable`."""
    try:
        return version("trl")
    except PackageNotFoundError as error:
        raise Failure(
            "unavailable",
            "TRL is not installed in this Python environment.",
            "Run Set Up PyTorch Engine, or install it with pip install trl.",
        ) from error


def unknown(installed: str, why: str) -> Failure:
    known = f"{KNOWN[0]}.{KNOWN[1]}"
    return Failure(
        "version",
        f"TRL {installed} is not supported: {why}. This engine was built for TRL {known}.",
        f'Install a supported version: pip install "trl=={known}.*".',
    )


def other_version() -> str | None:
    """Returns a log message if the installed TRL is not the tested version but provides everything required."""
    installed = trl_version()
    parts = installed.split(".")
    if tuple(int(part) if part.isdigit() else -1 for part in parts[:2]) == KNOWN:
        return None
    return (
        f"TRL {installed} is installed, but this engine was tested with {KNOWN[0]}.{KNOWN[1]}. It has the required "
        "interface, but results may differ."
    )
