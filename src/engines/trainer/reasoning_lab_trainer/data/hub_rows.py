"""`python -m reasoning_lab_trainer.data.hub_rows ID --out FILE`: writes the rows of a Hub dataset as JSONL, in order.

Prints one JSON object per line to standard output: {"rows"} for progress, then {"rows", "whole"} or {"failure"}.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import datasets

from ..failure import Failure
from .source import Source, hub_dataset_failure, plain

TELL_EVERY = 200
ELSEWHERE = "Run `reasoning-lab dataset fetch` on a machine that has access to the dataset, then open the file here."


def write_rows(source: Source, limit: int, out: Path, report: Callable[[int], None]) -> tuple[int, bool]:
    """Writes up to `limit` rows (0 means all). Returns the number of rows written and whether that is the whole split.
    Rows are streamed, so the first rows of a large dataset are available quickly. Without a network connection, falls
    back to previously downloaded data.
    """
    count = 0
    whole = True
    try:
        rows: Any = datasets.load_dataset(
            source.path,
            name=source.config,
            split=source.split,
            streaming=not datasets.config.HF_HUB_OFFLINE,
        )
        with out.open("w", encoding="utf-8") as file:
            for row in islice(rows, limit + 1 if limit > 0 else None):
                if limit > 0 and count == limit:
                    whole = False
                    break
                file.write(json.dumps(plain(row), ensure_ascii=False) + "\n")
                count += 1
                if count % TELL_EVERY == 0:
                    report(count)
    except Exception as error:
        if isinstance(error, OSError) and error.filename == str(out):
            raise Failure("denied", f"Cannot write {out}: {error.strerror}.", "Choose a different path.") from error
        raise hub_dataset_failure(error, source) from error
    if count == 0:
        raise Failure("missing", f"{source.name} has no rows on the Hub.", "Choose a different split.")
    return count, whole


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="hub_rows")
    parser.add_argument("id")
    parser.add_argument("--config")
    parser.add_argument("--split", default="train")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)

    def say(value: dict[str, Any]) -> None:
        print(json.dumps(value), flush=True)

    try:
        source = Source(given.id, given.config, given.split)
        rows, whole = write_rows(source, given.rows, given.out, lambda count: say({"rows": count}))
        say({"rows": rows, "whole": whole})
        return 0
    except Failure as failure:
        # Failure messages for models suggest using a local folder, which does not apply here.
        advice = {"action": ELSEWHERE} if failure.reason == "unavailable" else {}
        say({"failure": {**failure.data(), **advice}})
        return 1


if __name__ == "__main__":
    sys.exit(main())
