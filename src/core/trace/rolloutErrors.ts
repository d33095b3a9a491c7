import type { RolloutLine } from '../../protocol/rolloutLine.ts';

const longest = 200;

/** What went wrong in a rollout, as its trainer or our engines recorded it in `extra`; empty: nothing was recorded. */
export function rolloutErrors({ extra }: Pick<RolloutLine, 'extra'>): string[] {
	if (extra === undefined) return [];
	const { error, errors, failed } = extra;
	const all = [...textsOf(error), ...textsOf(errors)];
	if (all.length === 0 && typeof failed === 'string') all.push(`failed ${failed}`);
	return all.map((text) => (text.length > longest ? `${text.slice(0, longest)}…` : text));
}

/** One text, a list of them, or texts by the name of the reward that failed. */
function textsOf(value: unknown): string[] {
	if (typeof value === 'string') return value === '' ? [] : [value];
	if (typeof value !== 'object' || value === null) return [];
	if (Array.isArray(value)) return value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
	return Object.entries(value).map(([name, one]) => `${name}: ${typeof one === 'string' ? one : JSON.stringify(one)}`);
}
