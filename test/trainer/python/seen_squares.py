"""Two tasks that can only be solved by looking at a picture: the color and the place of a square. Argument: folder."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from PIL import Image, ImageDraw
from tiny_vision_model import SIDE, make_vision_model

COLORS = ("red", "green", "blue", "black")
PLACES = tuple((left, top, left + 16, top + 16) for top in (0, 8, 16) for left in (0, 8, 16))
"""Boxes in pixels. Neighbors overlap by half, so that answers can be partly right."""
ROWS = 400


def box_text(box: tuple[int, int, int, int]) -> str:
    return f"[{box[0]}, {box[1]}, {box[2]}, {box[3]}]"


def draw(folder: Path, name: str, color: str, box: tuple[int, int, int, int]) -> str:
    picture = Image.new("RGB", (SIDE, SIDE), "white")
    ImageDraw.Draw(picture).rectangle([box[0], box[1], box[2] - 1, box[3] - 1], fill=color)
    picture.save(folder / f"{name}.png")
    return f"{name}.png"


def main(folder: Path) -> None:
    make_vision_model(folder / "model", "?", [*COLORS, *map(box_text, PLACES)])
    dice = random.Random(1)
    for task in ("color", "place"):
        rows = []
        for i in range(ROWS):
            color, box = dice.choice(COLORS), dice.choice(PLACES)
            answer = color if task == "color" else box_text(box)
            rows.append({"prompt": "?", "answer": answer, "picture": draw(folder, f"{task}{i}", color, box)})
        (folder / f"{task}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        # The control: the same pictures and answers, paired at random.
        pictures = [row["picture"] for row in rows]
        dice.shuffle(pictures)
        mixed = [{**row, "picture": picture} for row, picture in zip(rows, pictures, strict=True)]
        (folder / f"{task}-mixed.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in mixed))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
