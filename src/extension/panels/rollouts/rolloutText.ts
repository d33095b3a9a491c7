import type { RolloutLine } from '../../../protocol/rolloutLine.ts';

export { correctness } from '../../../core/reward/correctness.ts';

/** Any recorded value as text: texts as they are, everything else as JSON; null when nothing is recorded. */
export function valueText(value: unknown, limit = 20_000): string | null {
	if (value === undefined || value === null) return null;
	const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? null);
	return text !== null && text.length > limit ? `${text.slice(0, limit)}…` : text;
}

/** JSON can spell 1e999: what is not finite is not a number. */
export function finite(value: number | null | undefined): number | null {
	return value !== null && value !== undefined && Number.isFinite(value) ? value : null;
}

/** How long a completion is in tokens, where the line tells it. */
export function tokenCount(line: RolloutLine): number | null {
	if (line.tokens) return line.tokens.text.length;
	const told = line.extra?.length;
	return typeof told === 'number' && Number.isInteger(told) && told >= 0 ? told : null;
}
