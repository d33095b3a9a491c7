"""Checks the files in an untrusted model folder before a library opens them."""

from __future__ import annotations

from pathlib import Path

from ..data.limits import MODEL_FILE, WEIGHTS_HEADER
from ..failure import Failure
from ..regular_file import open_regular

READ = (".json", ".model", ".txt", ".jinja", ".bin", ".safetensors")
"""Extensions of files that transformers reads from a model folder."""


def check_model_folder(folder: Path) -> None:
    """Raises `invalid` for pipes and devices, and `corrupt` or `unsupported` for files that would exhaust memory."""
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix in READ)
    except OSError as error:
        raise Failure("denied", f"Cannot read the folder {folder}.", "Change the folder permissions.") from error
    for file in files:
        if file.is_dir():
            continue
        with open_regular(file) as opened:
            if file.suffix == ".safetensors":
                header = int.from_bytes(opened.read(8), "little")
                if header > WEIGHTS_HEADER:
                    raise Failure(
                        "corrupt",
                        f"{file} is damaged: its header claims to be {header} bytes long.",
                        "Copy the weights again.",
                    )
            elif file.suffix != ".bin" and file.stat().st_size > MODEL_FILE:
                raise Failure(
                    "unsupported",
                    f"{file} is {file.stat().st_size} bytes, which exceeds the limit of {MODEL_FILE}.",
                    "Use the model's original file.",
                )
