"""Reads the pictures of dataset rows. Pictures are untrusted files, so sizes are checked before decoding."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, BinaryIO

from ..failure import Failure
from ..link.messages import Problem
from ..models.tokenizer import first_line
from ..regular_file import open_regular
from .limits import PICTURE_BYTES, PICTURE_PIXELS, PICTURE_SIDE
from .presets import MISSING, cell

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "WEBP")
"""Accepted formats. Pillow would also decode dozens of rare ones."""


class Pictures:
    """The pictures in a dataset column: paths relative to the dataset's folder, or file contents (the `Image` type of
    Hugging Face datasets).
    """

    def __init__(self, column: str, folder: Path | None, held_out_folder: Path | None) -> None:
        self._column = column
        self._folder = folder
        self._held_out_folder = held_out_folder

    @staticmethod
    def of(recipe: dict[str, Any]) -> Pictures | None:
        """Returns the pictures of a resolved recipe's dataset, or None if it has none."""
        dataset = recipe.get("dataset") or {}
        column = dataset.get("image")
        if column is None:
            return None
        folder = _folder_of(dataset["path"])
        held_out = dataset.get("heldOut")
        return Pictures(column, folder, folder if held_out is None else _folder_of(held_out))

    def of_problem(self, problem: Problem, held_out: bool = False) -> Image:
        """Decodes a problem's picture as RGB, rotated per its EXIF data. Raises `invalid`, `missing`, `denied` and
        `unsupported`.
        """
        with self._source(problem, held_out) as (stream, where), _opened(stream, where) as picture:
            return _upright(picture)

    def check_problem(self, problem: Problem, held_out: bool = False) -> None:
        """Raises the same failures as `of_problem`, but reads only the start of a file, so it misses damaged pixels."""
        with self._source(problem, held_out) as (stream, where), _opened(stream, where):
            pass

    @contextmanager
    def _source(self, problem: Problem, held_out: bool) -> Iterator[tuple[BinaryIO, str]]:
        """Opens a problem's picture and checks its size. Also yields its name for error messages."""
        place, where = self._place(problem, held_out)
        with io.BytesIO(place) if isinstance(place, bytes) else _file(place, where) as stream:
            _limit(stream.seek(0, io.SEEK_END), where)
            stream.seek(0)
            yield stream, where

    def _place(self, problem: Problem, held_out: bool) -> tuple[bytes | Path, str]:
        """Returns the contents or the path of a problem's picture, and its name for error messages."""
        content = problem.get("image")
        if isinstance(content, bytes):
            return content, f'The image in column "{self._column}" of row {problem["index"] + 1}'
        value = cell(problem["row"], self._column)
        path = value.get("path") if isinstance(value, dict) else value
        if value is MISSING or not isinstance(path, str) or not path:
            # If the driver reads the dataset, the index is not the row number.
            raise Failure(
                "invalid",
                f'Column "{self._column}" of the row with the prompt {_shortened(problem["prompt"])} contains neither '
                "a path nor an image.",
                "Write the path of a PNG, JPEG or WebP file, relative to the dataset's folder.",
            )
        where = f'The image in column "{self._column}" ({path[:200]})'
        file = _below(self._held_out_folder if held_out else self._folder, path, where)
        return file, where


def _shortened(prompt: str | list[dict[str, Any]]) -> str:
    """Returns the beginning of a prompt, in quotation marks."""
    text = prompt if isinstance(prompt, str) else " ".join(str(message.get("content")) for message in prompt)
    return repr(text if len(text) <= 60 else f"{text[:60]}...")


def content_of(value: Any) -> bytes | None:
    """Returns the file contents in a cell of an `Image` column, or None if the cell has only a path."""
    content = value.get("bytes") if isinstance(value, dict) else value
    return content if isinstance(content, bytes) else None


def decoded(content: bytes, where: str) -> Image:
    """Decodes a picture. Raises `invalid`, `unsupported`, and `unavailable` without Pillow. `where`: subject of the
    error message.
    """
    _limit(len(content), where)
    with _opened(io.BytesIO(content), where) as picture:
        return _upright(picture)


def _upright(picture: Image) -> Image:
    from PIL import ImageOps

    return ImageOps.exif_transpose(picture).convert("RGB")


def _file(path: Path, where: str) -> BinaryIO:
    try:
        return open_regular(path)
    except Failure as failure:
        if failure.reason != "missing":
            raise
        raise Failure("missing", f"{where} does not exist.", "Add the file, or remove the row.") from failure


@contextmanager
def _opened(stream: BinaryIO, where: str) -> Iterator[Image]:
    """Opens a picture and checks its format and size. Converts decoder errors to failures."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise Failure(
            "unavailable",
            "The dataset has images, but Pillow is not installed in this Python environment.",
            "Install it in the engine environment (pip install pillow).",
        ) from error
    try:
        with Image.open(stream, formats=FORMATS) as picture:
            width, height = picture.size
            if width * height > PICTURE_PIXELS or max(width, height) > PICTURE_SIDE:
                raise Failure(
                    "unsupported",
                    f"{where} has {width} x {height} pixels. The limits are {PICTURE_PIXELS} pixels in total and "
                    f"{PICTURE_SIDE} on a side.",
                    "Scale it down.",
                )
            yield picture
    except Failure:
        raise
    except Image.DecompressionBombError as error:
        raise Failure("unsupported", f"{where} has more than {PICTURE_PIXELS} pixels.", "Scale it down.") from error
    except Exception as error:  # Decoders can raise anything for a damaged file.
        why = "" if isinstance(error, UnidentifiedImageError) else f": {first_line(error)}"
        raise Failure(
            "invalid", f"{where} is not a readable PNG, JPEG or WebP file{why}.", "Recreate the file."
        ) from error


def _limit(size: int, where: str) -> None:
    if size > PICTURE_BYTES:
        raise Failure("unsupported", f"{where} is {size} bytes, which exceeds the limit of {PICTURE_BYTES}.")


def _folder_of(path: str) -> Path | None:
    """Returns the folder that a dataset's paths are relative to, or None for a Hub dataset."""
    place = Path(path)
    if not place.is_absolute():
        return None
    return place if place.is_dir() else place.parent


def _below(folder: Path | None, path: str, where: str) -> Path:
    """Resolves a path from a dataset. The target must be inside the dataset's folder after resolving links."""
    if folder is None:
        raise Failure(
            "invalid",
            f"{where} is a path, but a dataset on the Hub has no folder.",
            "Use a column that contains images.",
        )
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if "\0" in path or ".." in parts or PurePosixPath(path).is_absolute() or PureWindowsPath(path).drive:
        raise Failure(
            "invalid",
            f"{where} is not inside the dataset's folder.",
            "Use a path relative to the folder that contains the dataset.",
        )
    root = folder.resolve()
    file = (root / Path(*parts)).resolve()
    if not file.is_relative_to(root):
        raise Failure(
            "invalid",
            f"{where} links to a file outside the dataset's folder.",
            "Copy the file to that folder.",
        )
    return file
