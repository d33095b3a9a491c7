"""Reads rows from a file or Hub dataset without changing them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from ..failure import Failure
from ..models.hub import hub_failure
from ..models.tokenizer import first_line
from ..regular_file import open_regular, read_regular
from .limits import TEXT_BYTES, decoded_bytes
from .tables import arrow_rows, parquet_rows, saved_rows

Row = dict[str, Any]

KINDS = ("jsonl", "json", "csv", "tsv", "parquet", "arrow", "txt")
_NAME = re.compile(rf"\.({'|'.join(KINDS)})(\.(gz|zst))?$", re.IGNORECASE)
_HUB = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")

SPLITS = ("train", "training", "test", "validation", "valid", "val", "dev", "eval")
_PART = re.compile(r"[-_.]?\d+([-_]of[-_]\d+)?$")

csv.field_size_limit(2**31 - 1)


@dataclass(frozen=True)
class Source:
    path: str
    """File path or Hub id."""
    config: str | None = None
    split: str = "train"

    @property
    def kind(self) -> str | None:
        """Returns the file format implied by the extension, or None if unknown."""
        found = _NAME.search(self.path)
        return found.group(1).lower() if found else None

    @property
    def on_hub(self) -> bool:
        # A resolved recipe contains only absolute local paths.
        return self.kind is None and _HUB.match(self.path) is not None

    @property
    def name(self) -> str:
        """Returns a display name for messages."""
        return f"{self.path} ({self.split})" if self.on_hub else self.path


@dataclass(frozen=True)
class Numbered:
    """A row and its 1-based position: the line number in a text file, or the row number elsewhere."""

    number: int
    row: Row


def read_rows(source: Source) -> list[Numbered]:
    """Reads all rows from a source. Raises `missing`, `invalid` (empty, unreadable, or unknown extension; includes the
    line number if a single line is at fault), `unavailable` (cannot reach the Hub) and `denied`.
    """
    rows = _from_hub(source) if source.on_hub else _from_file(source)
    if not rows:
        raise Failure("invalid", f"{source.name} has no rows.", "Use a different file or split.")
    return rows


def word_of_place(source: Source) -> str:
    """Returns "line" or "row", for describing a row's position."""
    return "line" if source.kind in ("jsonl", "txt") else "row"


def _from_file(source: Source) -> list[Numbered]:
    path = Path(source.path)
    if path.is_dir():
        return _from_folder(path, source.split)
    open_regular(path).close()
    kind = source.kind
    if kind is None:
        raise Failure(
            "invalid",
            f"Cannot determine the format of {path} from its file extension.",
            f"Use one of .{', .'.join(KINDS[:-1])}.",
        )
    try:
        if path.stat().st_size == 0:
            return []
        if kind == "parquet":
            return _numbered(parquet_rows(path))
        if kind == "arrow":
            return _numbered(arrow_rows(path))
        text = _text_of(path)
    except Failure:
        raise
    except PermissionError as error:
        raise Failure("denied", f"Cannot read {path}: permission denied.", "Change the file permissions.") from error
    except (OSError, ValueError, EOFError, pa.ArrowException, datasets.exceptions.DatasetGenerationError) as error:
        cause = error.__cause__ or error
        raise Failure(
            "invalid", f"{path} is not a readable {kind} file: {first_line(cause)}.", "Recreate the file."
        ) from error
    if kind in ("csv", "tsv"):
        return _of_csv(text, path, "\t" if kind == "tsv" else ",")
    if kind == "json":
        return _of_json(text, path)
    return _of_lines(text, path)


def _from_folder(path: Path, split: str) -> list[Numbered]:
    """Reads a folder written by `save_to_disk` from Hugging Face datasets, or a folder of Parquet files."""
    try:
        if (path / "dataset_dict.json").is_file():
            names = json.loads(read_regular(path / "dataset_dict.json", 1 << 20)).get("splits", [])
            if split not in names:
                raise Failure(
                    "missing",
                    f"{path} has no split {split} (available: {', '.join(map(str, names)) or 'none'}).",
                    'Set "split" in the dataset.',
                )
            path = path / split
        if (path / "state.json").is_file():
            return _numbered(saved_rows(path))
        # As in partsTable.ts, do not train on a test set that happens to be in the same folder.
        parquet = [file for file in path.iterdir() if file.suffix.lower() == ".parquet" and file.name[0] not in "._"]
        files = sorted(parquet, key=lambda file: file.name)
        sets = list(dict.fromkeys(_PART.sub("", file.stem) for file in files))
        if len(sets) > 1 and any(name.lower() in SPLITS for name in sets):
            raise Failure(
                "invalid",
                f"{path} contains files from several splits ({', '.join(sets[:5])}).",
                "Use the file for one split, or move each split to its own folder.",
            )
        if not files:
            raise Failure(
                "invalid",
                f"{path} contains neither Parquet files nor a dataset written by save_to_disk.",
                "Use a file, or a folder of Parquet files.",
            )
        rows = [row for file in files for row in parquet_rows(file)]
        # A column that exists only in some files is null in the others.
        names = pa.unify_schemas([pq.read_schema(file) for file in files]).names
        return _numbered([{name: row.get(name) for name in names} for row in rows] if len(files) > 1 else rows)
    except (OSError, ValueError, AttributeError, pa.ArrowException) as error:
        raise Failure(
            "invalid", f"{path} is not a readable dataset: {first_line(error)}.", "Recreate the dataset."
        ) from error


def _text_of(path: Path) -> str:
    raw = read_regular(path, TEXT_BYTES)
    if path.suffix.lower() == ".gz":
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            most = min(TEXT_BYTES, decoded_bytes(len(raw)))
            raw = packed.read(most + 1)
        if len(raw) > most:
            raise Failure(
                "unsupported",
                f"{path} is larger than the limit of {most} bytes when decompressed.",
                "Train on part of it, or convert it to Parquet.",
            )
    elif path.suffix.lower() == ".zst":
        raise Failure(
            "unsupported",
            f"{path} is compressed with zstd, which is not supported.",
            "Decompress it, or compress it with gzip.",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        encoding = "WINDOWS-1252" if any(0x80 <= byte < 0xA0 for byte in raw) else "ISO-8859-1"
        raise Failure(
            "invalid",
            f"{path}, line {line}, is not valid UTF-8.",
            f"The encoding looks like {encoding}. Convert the file to UTF-8, for example with iconv -f "
            f"{encoding} -t UTF-8 FILE > NEW.",
        ) from error


def _of_lines(text: str, path: Path) -> list[Numbered]:
    rows: list[Numbered] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Failure(
                "invalid", f"{path}, line {number}, is not valid JSON.", "Write one JSON object per line."
            ) from error
        if not isinstance(value, dict):
            raise Failure("invalid", f"{path}, line {number}, is not a JSON object.", "Write one JSON object per line.")
        rows.append(Numbered(number, value))
    return rows


def _of_json(text: str, path: Path) -> list[Numbered]:
    advice = "Use a list of objects, or an object that contains such a list."
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise Failure("invalid", f"Cannot read {path}: its values are nested too deeply.", advice) from error
    except ValueError as error:
        # Files named .json often contain one JSON object per line.
        try:
            return _of_lines(text, path)
        except Failure:
            raise Failure("invalid", f"{path} is not valid JSON ({first_line(error)}).", advice) from error
    if isinstance(value, dict):
        lists = [held for held in value.values() if isinstance(held, list)]
        value = lists[0] if len(lists) == 1 else [value]
    if not isinstance(value, list):
        raise Failure("invalid", f"{path} does not contain a list of rows.", advice)
    for number, row in enumerate(value, 1):
        if not isinstance(row, dict):
            raise Failure("invalid", f"{path}, row {number}, is not an object.", advice)
    return [Numbered(number, row) for number, row in enumerate(value, 1)]


def _of_csv(text: str, path: Path, delimiter: str) -> list[Numbered]:
    """Yields rows from delimited text. Cells remain strings: "007" is not a number."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Numbered] = []
    names: list[str] | None = None
    try:
        for cells in reader:
            if not cells:
                continue
            if names is None:
                names = cells
                if len(set(names)) < len(names):
                    raise Failure(
                        "invalid", f"{path} has duplicate column names in its first line.", "Rename one of the columns."
                    )
            elif len(cells) != len(names):
                raise Failure(
                    "invalid",
                    f"{path}, line {reader.line_num}, has {len(cells)} cells, but the first line has {len(names)}.",
                    "Quote cells that contain commas or line breaks.",
                )
            else:
                rows.append(Numbered(len(rows) + 1, dict(zip(names, cells, strict=True))))
    except csv.Error as error:
        raise Failure(
            "invalid", f"{path}, line {reader.line_num}, is not valid CSV: {error}.", "Check for unclosed quotes."
        ) from error
    return rows


def _numbered(rows: Iterable[Row]) -> list[Numbered]:
    return [Numbered(number, row) for number, row in enumerate(rows, 1)]


def _from_hub(source: Source) -> list[Numbered]:
    try:
        loaded = datasets.load_dataset(source.path, name=source.config, split=source.split)
    except Exception as error:
        raise hub_dataset_failure(error, source) from error
    # No size checks: datasets has already decoded the Hub files, and its cache belongs to the user.
    return _numbered(loaded.with_format("arrow")[:].to_pylist())


def hub_dataset_failure(error: Exception, source: Source) -> Failure:
    text = first_line(error)
    if isinstance(error, datasets.exceptions.DatasetNotFoundError) and "gated" not in text.lower():
        if datasets.config.HF_HUB_OFFLINE:
            return hub_failure(ConnectionError("offline mode"), "dataset", source.path)
        return Failure(
            "missing",
            f"Dataset {source.path} not found: it is neither a local file nor an id on the Hugging Face Hub.",
            "Check the path, or run `hf auth login` if the repository is private.",
        )
    if "BuilderConfig" in text or "Config name is missing" in text:
        return Failure("missing", f"Dataset {source.path}: {text}.", 'Set "config" in the dataset.')
    if "split" in text.lower():
        return Failure("missing", f"Dataset {source.path}: {text}.", 'Set "split" in the dataset.')
    if "scripts are no longer supported" in text:
        return Failure(
            "unsupported",
            f"Dataset {source.path} requires custom code, which this engine does not run.",
            "Use a copy in Parquet format.",
        )
    return hub_failure(error, "dataset", source.path)


def plain(value: Any) -> Any:
    """Converts a value to JSON. Unsupported types become strings, and non-finite numbers become null."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(held) for held in value]
    if isinstance(value, (bytes, bytearray)):
        return f"{len(value)} bytes"
    return str(value)
