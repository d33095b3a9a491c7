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

/** `error`: something is broken; `warning`: something looks wrong; `info`: worth knowing. */
export type Severity = 'error' | 'warning' | 'info';

/** A finding of a check, with its places and evidence. */
export interface Finding {
	readonly check: CheckName;
	readonly severity: Severity;
	/** A few words. */
	readonly title: string;
	/** What, where and why, in sentences. */
	readonly text: string;
	/** The main place first. */
	readonly at: readonly MessagePlace[];
	/** Evidence; at most a few truncated quotes. */
	readonly quotes: readonly { readonly label: string; readonly text: string }[];
}

const order: readonly Severity[] = ['error', 'warning', 'info'];

/** Errors first, then by place. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
	const first = ({ at }: Finding): number => at[0]?.message ?? -1;
	return findings.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity) || first(a) - first(b));
}

/** A quote for display, truncated with an ellipsis. */
export function quote(text: string, longest = 400): string {
	return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/** "a", "a and b", "a, b and c". */
export function listed(words: readonly string[]): string {
	if (words.length < 2) return words.join('');
	return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** Messages are numbered from 1 for display. */
export function messageName(index: number): string {
	return `message ${index + 1}`;
}

/** The same at the start of a sentence. */
export function messageNameFirst(index: number): string {
	return `Message ${index + 1}`;
}
