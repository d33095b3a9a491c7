"""Resolves model folders and Hub ids, and explains errors when neither exists."""

from __future__ import annotations

from pathlib import Path

import huggingface_hub.errors as hub_errors

from ..failure import Failure


def is_folder(path: str) -> bool:
    return Path(path).is_dir()


def looks_like_path(path: str) -> bool:
    """Returns whether the user meant a local path. Hub ids have the form `name` or `owner/name`."""
    return path.startswith(("/", "./", "../", "~", "\\")) or path.count("/") > 1 or "\\" in path or ":" in path


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in found and len(found) < 16:
        found.append(at)
        at = at.__cause__ or at.__context__
    return found


def _says(chain: list[BaseException], *texts: str) -> bool:
    return any(text in str(error) for error in chain for text in texts)


def hub_failure(error: BaseException, what: str, path: str) -> Failure:
    """Converts an error raised by a Hugging Face loader to a Failure. `what`: model, tokenizer, dataset, ..."""
    chain = _chain(error)

    def has(*names: str) -> bool:
        classes = tuple(kind for kind in (getattr(hub_errors, name, None) for name in names) if kind is not None)
        return any(isinstance(at, classes) for at in chain)

    action = f"Download it on a machine with access, and replace {path} with the path of the downloaded folder."
    if _says(chain, "trust_remote_code"):
        return Failure(
            "unsupported",
            f"The {what} {path} requires custom code, which this engine does not run.",
            "Use an architecture that the installed transformers version supports.",
        )
    if has("GatedRepoError"):
        return Failure(
            "denied",
            f"The {what} {path} is gated on the Hugging Face Hub.",
            "Request access on its Hub page, then log in with `hf auth login`.",
        )
    if has("LocalEntryNotFoundError", "OfflineModeIsEnabled") or _says(
        chain, "couldn't connect", "Couldn't reach", "offline mode", "OfflineMode", "Connection", "Temporary failure"
    ):
        return Failure(
            "unavailable",
            f"The {what} {path} is not on this machine, and the Hugging Face Hub cannot be reached.",
            action,
        )
    if has("RevisionNotFoundError"):
        return Failure("missing", f"The specified revision of the {what} {path} does not exist.", 'Correct "revision".')
    if has("RepositoryNotFoundError", "HFValidationError") or _says(chain, "not a valid model identifier"):
        return Failure(
            "missing",
            f"The {what} {path} was not found: it is neither a local folder nor an id on the Hugging Face Hub.",
            "Check the path, or run `hf auth login` if the repository is private.",
        )
    text = str(error).strip().splitlines() or [type(error).__name__]
    return Failure("invalid", f"Cannot load the {what} {path}: {text[0].strip().rstrip('.')[:300]}.")
