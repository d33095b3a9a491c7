import type { MessagePlace } from './transcript.ts';

export const checkNames = [
	'schema',
	'arguments',
	'failedCall',
	'retry',
	'link',
	'critique',
	'citation',
	'tokens',
	'context',
	'truncated',
] as const;
export type CheckName = (typeof checkNames)[number];

/** `error`: something is broken; `warning`: something looks wrong; `info`: useful to know. */
export type Severity = 'error' | 'warning' | 'info';

/** Result of a check, with positions and evidence. */
export interface Finding {
	readonly check: CheckName;
	readonly severity: Severity;
	/** Short title. */
	readonly title: string;
	/** Explanation in full sentences: what is wrong, where, and why. */
	readonly text: string;
	/** Positions, main position first. */
	readonly at: readonly MessagePlace[];
	/** Evidence; at most a few truncated quotes. */
	readonly quotes: readonly { readonly label: string; readonly text: string }[];
}

const order: readonly Severity[] = ['error', 'warning', 'info'];

/** Sorts findings by severity, errors first, then by position. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
	const first = ({ at }: Finding): number => at[0]?.message ?? -1;
	return findings.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity) || first(a) - first(b));
}

/** Formats a quote for display, truncated with an ellipsis. */
export function quote(text: string, longest = 400): string {
	return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/** Joins words as a list: "a", "a and b", "a, b and c". */
export function listed(words: readonly string[]): string {
	if (words.length < 2) return words.join('');
	return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** Returns the display name of a message; messages are numbered from 1. */
export function messageName(index: number): string {
	return `message ${index + 1}`;
}

/** Returns the display name of a message for use at the start of a sentence. */
export function messageNameFirst(index: number): string {
	return `Message ${index + 1}`;
}
