import type { RolloutLine } from '../../../protocol/rolloutLine.ts';

export { correctness } from '../../../core/reward/correctness.ts';

/**
 * Converts a recorded value to text: strings unchanged, anything else as JSON. Returns null if no value is recorded.
 */
export function valueText(value: unknown, limit = 20_000): string | null {
	if (value === undefined || value === null) return null;
	const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? null);
	return text !== null && text.length > limit ? `${text.slice(0, limit)}…` : text;
}

/** Returns null for non-finite numbers, because JSON can contain 1e999. */
export function finite(value: number | null | undefined): number | null {
	return value !== null && value !== undefined && Number.isFinite(value) ? value : null;
}

/** Returns a completion's length in tokens, if recorded. */
export function tokenCount(line: RolloutLine): number | null {
	if (line.tokens) return line.tokens.text.length;
	const recordedLength = line.extra?.length;
	return typeof recordedLength === 'number' && Number.isInteger(recordedLength) && recordedLength >= 0
		? recordedLength
		: null;
}
