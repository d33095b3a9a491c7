import type { RolloutLine } from '../protocol/rolloutLine.ts';
import { tokenUnits } from '../protocol/trainerLink.ts';

/** A rollout as the run keeps it, of one that came over the link: there the numbers of tokens are whole. */
export function runRollout(line: RolloutLine): RolloutLine {
	if (line.tokens === undefined) return line;
	const { text, ...numbers } = line.tokens;
	const values = Object.entries(numbers).map(([name, list]) => [
		name,
		list?.map((value) => (value === null ? null : value / tokenUnits)),
	]);
	return { ...line, tokens: { text, ...Object.fromEntries(values) } as NonNullable<RolloutLine['tokens']> };
}
