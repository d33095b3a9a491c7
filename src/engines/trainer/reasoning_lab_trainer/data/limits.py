"""Limits on the decoded size of untrusted files, regardless of what the files declare. The TypeScript counterpart is
decodingLimits.ts.
"""

from __future__ import annotations

TEXT_BYTES = 8 << 30
"""Maximum decompressed size of a text file, in bytes. Its rows are held in memory."""

TABLE_BASE = 64 << 20
TABLE_PER_BYTE = 200
"""Maximum decoded bytes per file byte, for tables and compressed text. A dictionary of large strings, referenced
repeatedly by a few bytes, can turn kilobytes into terabytes. Real repetition, such as a system prompt in every row,
expands about tenfold.
"""

ROW_BYTES = 200
"""Memory overhead per row, not counting its values."""

WEIGHTS_HEADER = 16 << 20
"""Maximum size of a safetensors header, in bytes. Models with thousands of tensors have headers of a few hundred
kilobytes.
"""

MODEL_FILE = 64 << 20
"""Maximum size of model files other than weights, in bytes. The largest known tokenizer.json is 35 MB."""

PICTURE_BYTES = 32 << 20
"""Maximum size of an image file, in bytes."""

PICTURE_PIXELS = 50_000_000
PICTURE_SIDE = 16_384
"""Maximum number of pixels, in total and per side, checked before decoding. A kilobyte of PNG can declare billions."""

PICTURES_CHECKED = 20_000
"""Maximum number of problems per split (training, held-out) whose pictures are checked before a run starts."""


def decoded_bytes(file_bytes: int) -> int:
    """Returns the maximum decoded size, in bytes, of a table or compressed text in a file of this size."""
    return TABLE_BASE + TABLE_PER_BYTE * file_bytes
