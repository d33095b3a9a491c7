import type { RolloutLine } from '../../protocol/rolloutLine.ts';

const longest = 200;

/** Returns the errors that a trainer or one of our engines recorded in a rollout's `extra`; empty if there are none. */
export function rolloutErrors({ extra }: Pick<RolloutLine, 'extra'>): string[] {
	if (extra === undefined) return [];
	const { error, errors, failed } = extra;
	const all = [...textsOf(error), ...textsOf(errors)];
	if (all.length === 0 && typeof failed === 'string') all.push(`failed ${failed}`);
	return all.map((text) => (text.length > longest ? `${text.slice(0, longest)}…` : text));
}

/** Accepts a single string, a list, or strings keyed by the name of the failed reward. */
function textsOf(value: unknown): string[] {
	if (typeof value === 'string') return value === '' ? [] : [value];
	if (typeof value !== 'object' || value === null) return [];
	if (Array.isArray(value)) return value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
	return Object.entries(value).map(([name, one]) => `${name}: ${typeof one === 'string' ? one : JSON.stringify(one)}`);
}
