import type { TextHit } from '../../src/protocol/rolloutIndex.ts';
import { toCsv } from '../lib/charts/csv.ts';

const places = ['run', 'split', 'step', 'group', 'index', 'count'] as const;

/** Formats text search hits as CSV: position, number of occurrences, and the text around the first one. */
export function hitsCsv(hits: readonly TextHit[]): string {
	return toCsv(
		[
			...places.map((name) => ({ name, values: hits.map((hit) => hit[name]) })),
			{ name: 'text', values: hits.map(({ before, match, after }) => `${before}${match}${after}`) },
		],
		hits.map((_, i) => i),
	);
}
