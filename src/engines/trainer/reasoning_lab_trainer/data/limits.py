"""Limits on decoded sizes of untrusted files, whatever the files declare. The TypeScript counterpart is
decodingLimits.ts.
"""

from __future__ import annotations

TEXT_BYTES = 8 << 30
"""Max decompressed bytes of a text file, whose rows are held in memory."""

TABLE_BASE = 64 << 20
TABLE_PER_BYTE = 200
"""Max decoded bytes per file byte, for tables and compressed text: a dictionary of large texts and a few bytes that
repeat them can turn kilobytes into terabytes. Genuinely repeated texts (a system prompt in every row) give a factor of
ten.
"""

ROW_BYTES = 200
"""Memory overhead of a row without its values."""

WEIGHTS_HEADER = 16 << 20
"""Max bytes of a safetensors header; those of models with thousands of tensors have a few hundred kilobytes."""

MODEL_FILE = 64 << 20
"""Max bytes of model files other than weights; the largest known tokenizer.json has 35 MB."""


def decoded_bytes(file_bytes: int) -> int:
    """Max decoded bytes of a table or compressed text, for a file size."""
    return TABLE_BASE + TABLE_PER_BYTE * file_bytes
