"""Opens files listed in a recipe or specified by the user, without blocking on pipes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from .failure import Failure


def open_regular(path: Path) -> BinaryIO:
    """Opens a file for reading. Raises `missing`, `denied`, or `invalid` for a pipe, a device or a folder."""

    def opener(name: str, flags: int) -> int:
        # Opening a pipe that has no writer would block, and the run could not be stopped.
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    try:
        file = open(path, "rb", opener=opener)  # noqa: SIM115
    except FileNotFoundError as error:
        raise Failure("missing", f"The file {path} does not exist.", 'Correct the "path".') from error
    except PermissionError as error:
        raise Failure("denied", f"Cannot read {path}: permission denied.", "Change the file permissions.") from error
    except OSError as error:
        raise Failure("invalid", f"{path} is not a regular file.", "Use a regular file.") from error
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise Failure("invalid", f"{path} is not a regular file.", "Use a regular file.")


def read_regular(path: Path, largest: int) -> bytes:
    """Reads an entire file. Raises the same failures as `open_regular`, and `unsupported` if the file exceeds the
    limit.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise Failure("unsupported", f"{path} is {size} bytes, which exceeds the limit of {largest}.")
        return file.read(largest + 1)
