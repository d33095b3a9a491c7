/*
 * What files of others may decode to, whatever they say of themselves. Whoever decodes checks before memory is taken; a file of
 * a few kilobytes that asks for gigabytes is refused with its reason. The trainer's are in data/limits.py.
 */

/**
 * Of JSON that is parsed at once: each "[" takes about 60 bytes of memory. Of honest files a tokenizer.json has the most values
 * (2.5 million where 260,000 tokens have 580,000 merges).
 */
export const jsonLimits = { values: 4_000_000, depth: 500 } as const;

/**
 * Of a table, in bytes: a dictionary of large texts and a few bytes that repeat them make terabytes out of kilobytes. Texts that
 * data really repeat (a system prompt in every row) make ten times the file.
 */
export const tableLimits = { base: 64 << 20, perByte: 200 } as const;

/** Bytes that a table in a file of so many bytes may have, decoded. */
export const tableBytes = (fileBytes: number) => tableLimits.base + tableLimits.perByte * fileBytes;

/**
 * Of a zip archive of samples: entries, bytes of one and of all together once they are decoded, and UTF-16 code units of the
 * text that is made of them, which are what a transcript may have.
 */
export const zipLimits = {
	entries: 20_000,
	entryBytes: 64 << 20,
	decodedBytes: 256 << 20,
	characters: 32 << 20,
} as const;

/** How often aliases of one YAML document may be expanded. */
export const yamlAliases = 100;

/** Of an ONNX file, in bytes (protobuf itself ends at 2 GB), of its parts, and the nesting depth of graphs and functions. */
export const onnxLimits = { bytes: 2 ** 31, fields: 20_000_000, depth: 16 } as const;

/** Of a safetensors file, in bytes; those of models with thousands of tensors have a few hundred kilobytes. */
export const safetensorsHeader = 16 << 20;

/**
 * Of tokenizer.json: bytes (the largest of known models have 35 MB), characters that the replacements of one step may make of
 * one, all together, and characters of a pattern.
 */
export const tokenizerLimits = { bytes: 64 << 20, growth: 1000, pattern: 10_000 } as const;
