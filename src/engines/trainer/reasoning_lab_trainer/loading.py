"""Loads the packages required for training."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Disables garbage collection during imports, which create about a million permanent objects. Scanning these
    objects repeatedly would account for a sixth of the import time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
