"""Reads Parquet and Arrow files, checking size limits before decoding."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..failure import Failure
from ..regular_file import open_regular
from .limits import ROW_BYTES, decoded_bytes

BATCH = 1024
"""Number of rows decoded at a time."""


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    """Reads all rows in a Parquet file. Raises `unsupported` if the decoded size far exceeds the file size."""
    with open_regular(path) as file:
        size = path.stat().st_size
        most = decoded_bytes(size)
        metadata = pq.read_metadata(file)
        if metadata.num_rows * ROW_BYTES > most:
            raise _too_large(path, most, size)
        texts: set[str] = set()
        for group in range(metadata.num_row_groups):
            chunks = [metadata.row_group(group).column(i) for i in range(metadata.num_columns)]
            # Run-length encoding can represent any number of equal values in a few bytes.
            if sum(max(chunk.total_uncompressed_size, 8 * chunk.num_values) for chunk in chunks) > most:
                raise _too_large(path, most, size)
            texts |= {c.path_in_schema for c in chunks if c.physical_type == "BYTE_ARRAY" and c.has_dictionary_page}
        # Keep strings dictionary-encoded until they are counted.
        reader = pq.ParquetFile(file, read_dictionary=sorted(texts))
        return [
            row for batch in _within(reader.iter_batches(batch_size=BATCH), path, size) for row in batch.to_pylist()
        ]


def arrow_rows(path: Path) -> list[dict[str, Any]]:
    """Reads all rows in an Arrow file, with or without a footer. Raises `unsupported` for compressed files."""
    return [row for batch in _stream(path) for row in batch.to_pylist()]


def saved_rows(path: Path) -> list[dict[str, Any]]:
    """Reads all rows in a folder written by `save_to_disk`."""
    for file in sorted(path.glob("*.arrow")):
        for _ in _stream(file):
            pass
    saved = datasets.load_from_disk(str(path)).with_format("arrow")
    return [row for table in saved.iter(BATCH) for row in table.to_pylist()]


def _stream(path: Path) -> Iterator[pa.RecordBatch]:
    open_regular(path).close()
    _refuse_compressed(path)
    with pa.memory_map(str(path)) as source:
        # A batch can contain any number of rows.
        batches = (part for batch in _batches(source) for part in _parts(batch))
        yield from _within(batches, path, path.stat().st_size)


def _batches(source: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    if not _has_footer(source):
        yield from pa.ipc.open_stream(source)
        return
    reader = pa.ipc.open_file(source)
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)


def _has_footer(source: pa.NativeFile) -> bool:
    """Returns whether the source uses the Arrow file format, which is a stream preceded by a magic number."""
    source.seek(0)
    magic = source.read(6) == b"ARROW1"
    source.seek(0)
    return magic


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    batch.validate(full=True)
    for start in range(0, batch.num_rows, BATCH):
        yield batch.slice(start, BATCH)


def _within(batches: Iterable[pa.RecordBatch], path: Path, size: int) -> Iterator[pa.RecordBatch]:
    most = decoded_bytes(size)
    taken = 0
    for batch in batches:
        taken += sum(size_of(column) for column in batch.columns) + ROW_BYTES * batch.num_rows
        if taken > most:
            raise _too_large(path, most, size)
        yield batch


def _too_large(path: Path, most: int, size: int) -> Failure:
    return Failure(
        "unsupported",
        f"{path} is {size} bytes but decodes to more than {most} bytes.",
        "Write the file without repeated values, or as JSON Lines.",
    )


def size_of(array: pa.Array) -> int:
    """Returns the size of an array's values in bytes, counting repeated strings once per occurrence."""
    kind = array.type
    if len(array) == 0 or pa.types.is_null(kind):
        return 8 * len(array)
    if isinstance(array, pa.ExtensionArray):
        return size_of(array.storage)
    if pa.types.is_dictionary(kind):
        if not _is_text(kind.value_type):
            return len(array) * (8 + size_of(array.dictionary))
        return 8 * len(array) + (pc.sum(pc.take(pc.binary_length(array.dictionary), array.indices)).as_py() or 0)
    if _is_text(kind):
        return 8 * len(array) + (pc.sum(pc.cast(pc.binary_length(array), pa.int64())).as_py() or 0)
    if pa.types.is_struct(kind):
        return 8 * len(array) + sum(size_of(field) for field in array.flatten())
    if pa.types.is_map(kind):
        return 8 * len(array) + size_of(array.keys) + size_of(array.items)
    if isinstance(array, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return 8 * len(array) + size_of(array.flatten())
    if "view" in str(kind) or "run_end" in str(kind):
        # Views can refer to the same bytes any number of times.
        raise pa.ArrowNotImplementedError(f"columns of type {kind} are not supported")
    return max(8 * len(array), array.nbytes)


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests)


def _refuse_compressed(path: Path) -> None:
    """Rejects compressed files. `datasets` never compresses, and a buffer's size is unknown before decompression."""
    try:
        with pa.memory_map(str(path)) as source:
            compressed = any(_is_compressed(message) for message in _messages(source))
    except (struct.error, IndexError) as error:
        raise Failure("invalid", f"{path} is not a readable Arrow file.", "Recreate the file.") from error
    if compressed:
        raise Failure("unsupported", f"{path} is a compressed Arrow file.", "Convert it to Parquet.")


def _messages(source: pa.NativeFile) -> Iterator[pa.Message]:
    if _has_footer(source):
        source.seek(8)
    reader = pa.ipc.MessageReader.open_stream(source)
    yield from iter(reader)


def _is_compressed(message: pa.Message) -> bool:
    """Parses a message's flatbuffer (Message.fbs): the Message header, and the compression of its RecordBatch, which
    also holds the data of a DictionaryBatch.
    """
    data = message.metadata.to_pybytes()
    root = struct.unpack_from("<I", data)[0]
    header = _table(data, root, 2)
    if message.type == "dictionary" and header is not None:
        header = _table(data, header, 1)
    if message.type == "schema" or header is None:
        return False
    return _table(data, header, 3) is not None


def _table(data: bytes, table: int, field: int) -> int | None:
    """Returns the position of a table referenced by a flatbuffer table field, or None if absent."""
    entries = table - struct.unpack_from("<i", data, table)[0]
    slot = 4 + 2 * field
    if slot >= struct.unpack_from("<H", data, entries)[0]:
        return None
    offset = struct.unpack_from("<H", data, entries + slot)[0]
    return None if offset == 0 else table + offset + struct.unpack_from("<I", data, table + offset)[0]
