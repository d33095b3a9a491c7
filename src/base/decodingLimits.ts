/*
 * Limits on the decoded size of untrusted files, regardless of what their headers declare. Decoders check these limits
 * before they allocate memory and reject, for example, a file of a few kilobytes that expands to gigabytes. The
 * trainer's limits are in data/limits.py.
 */

/**
 * Limits for JSON parsed in a single call. During parsing, each "[" takes about 60 bytes of memory. Among legitimate
 * files, tokenizer.json has the most values (2.5 million for 260,000 tokens with 580,000 merges).
 */
export const jsonLimits = { values: 4_000_000, depth: 500 } as const;

/**
 * Limits for decoded tables, in bytes. With a dictionary of long strings and references of a few bytes each, kilobytes
 * can expand to terabytes. Real data with repeated text (a system prompt in every row) expands about tenfold.
 */
export const tableLimits = { base: 64 << 20, perByte: 200 } as const;

/** Returns the maximum decoded size, in bytes, of a table in a file of the given size. */
export const tableBytes = (fileBytes: number) => tableLimits.base + tableLimits.perByte * fileBytes;

/**
 * Limits for zip archives of samples: number of entries, decoded bytes per entry and in total, and UTF-16 code units of
 * the resulting text (same limit as for a transcript).
 */
export const zipLimits = {
	entries: 20_000,
	entryBytes: 64 << 20,
	decodedBytes: 256 << 20,
	characters: 32 << 20,
} as const;

/** Maximum number of alias expansions per YAML document. */
export const yamlAliases = 100;

/** Limits for ONNX files: bytes (protobuf itself stops at 2 GB), fields, and nesting depth of graphs and functions. */
export const onnxLimits = { bytes: 2 ** 31, fields: 20_000_000, depth: 16 } as const;

/**
 * Maximum size of a safetensors header, in bytes. Models with thousands of tensors have headers of a few hundred
 * kilobytes.
 */
export const safetensorsHeader = 16 << 20;

/**
 * Limits for tokenizer.json: bytes (the largest known file is 35 MB), total growth factor of the replacements in one
 * step (output characters per input character), and pattern length in characters.
 */
export const tokenizerLimits = { bytes: 64 << 20, growth: 1000, pattern: 10_000 } as const;
