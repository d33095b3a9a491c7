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

/** Something that a check found, with where it is and what shows it. */
export interface Finding {
	readonly check: CheckName;
	readonly severity: Severity;
	/** A few words. */
	readonly title: string;
	/** What, where and why, in sentences. */
	readonly text: string;
	/** The place it is about first. */
	readonly at: readonly MessagePlace[];
	/** Passages that show it; at most a few, each cut. */
	readonly quotes: readonly { readonly label: string; readonly text: string }[];
}

const order: readonly Severity[] = ['error', 'warning', 'info'];

/** Errors first, then by place. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
	const first = ({ at }: Finding): number => at[0]?.message ?? -1;
	return findings.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity) || first(a) - first(b));
}

/** A passage for people: its beginning, and that it goes on. */
export function quote(text: string, longest = 400): string {
	return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/** "a", "a and b", "a, b and c". */
export function listed(words: readonly string[]): string {
	if (words.length < 2) return words.join('');
	return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** Messages are counted from 1 on screen and in sentences. */
export function messageName(index: number): string {
	return `message ${index + 1}`;
}

/** The same at the beginning of a sentence. */
export function messageNameFirst(index: number): string {
	return `Message ${index + 1}`;
}
