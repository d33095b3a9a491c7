import type { RolloutLine } from '../../protocol/rolloutLine.ts';

const longest = 200;

/** Errors of a rollout, as recorded in `extra` by its trainer or by our engines; empty if none. */
export function rolloutErrors({ extra }: Pick<RolloutLine, 'extra'>): string[] {
	if (extra === undefined) return [];
	const { error, errors, failed } = extra;
	const all = [...textsOf(error), ...textsOf(errors)];
	if (all.length === 0 && typeof failed === 'string') all.push(`failed ${failed}`);
	return all.map((text) => (text.length > longest ? `${text.slice(0, longest)}…` : text));
}

/** A single text, a list, or texts by the name of the failed reward. */
function textsOf(value: unknown): string[] {
	if (typeof value === 'string') return value === '' ? [] : [value];
	if (typeof value !== 'object' || value === null) return [];
	if (Array.isArray(value)) return value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
	return Object.entries(value).map(([name, one]) => `${name}: ${typeof one === 'string' ? one : JSON.stringify(one)}`);
}
