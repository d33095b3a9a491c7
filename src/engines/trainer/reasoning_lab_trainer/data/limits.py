"""What files of others may decode to, whatever they say of themselves. Those in TypeScript: decodingLimits.ts."""

from __future__ import annotations

TEXT_BYTES = 8 << 30
"""Of a file of text, unpacked: its rows are held in memory."""

TABLE_BASE = 64 << 20
TABLE_PER_BYTE = 200
"""
Of a table and of packed text: a dictionary of large texts and a few bytes that repeat them make terabytes out of
kilobytes. Texts that data really repeat (a system prompt in every row) make ten times the file.
"""

ROW_BYTES = 200
"""What a row takes in memory without its values."""

WEIGHTS_HEADER = 16 << 20
"""Of a safetensors file, in bytes; those of models with thousands of tensors have a few hundred kilobytes."""

MODEL_FILE = 64 << 20
"""Of the files of a model that are no weights, in bytes; the largest tokenizer.json of known models has 35 MB."""


def decoded_bytes(file_bytes: int) -> int:
    """Bytes that a table or packed text in a file of so many bytes may have."""
    return TABLE_BASE + TABLE_PER_BYTE * file_bytes
