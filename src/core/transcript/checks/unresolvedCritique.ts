import { type MadeCall, madeCalls } from '../calls.ts';
import { type Finding, listed, messageName, quote } from '../finding.ts';
import { field, isTable, textField } from '../pythonValue.ts';
import type { Transcript } from '../transcript.ts';

interface Revision {
	readonly made: MadeCall;
	readonly answer: string;
	/** The model's critique of this answer by field; null if there is no reflection. */
	readonly critique: ReadonlyMap<string, string> | null;
}

const aspects = ['missing', 'superfluous'] as const;
const nothing = /^\W*(?:none|nothing|n\/?a|no)?\W*$/i;

/**
 * Compares Reflexion's critique ("missing", "superfluous") with the next revision, and finds critiques repeated
 * verbatim, unchanged answers, and revisions without a reflection.
 */
export function findUnresolvedCritique(transcript: Transcript): Finding[] {
	const revisions = madeCalls(transcript)
		.map(revisionOf)
		.filter((revision) => revision !== null);
	if (!revisions.some(({ critique }) => critique !== null)) return [];
	const findings: Finding[] = [];
	revisions.forEach((revision, i) => {
		const next = revisions[i + 1];
		const critique = revision.critique ?? new Map<string, string>();
		if (next === undefined || critique.size === 0) return;
		const carried = [...critique].filter(([aspect, words]) => same(words, next.critique?.get(aspect) ?? ''));
		const unchanged = same(revision.answer, next.answer);
		const [from, to] = [messageName(revision.made.message.index), messageName(next.made.message.index)];
		const common = {
			check: 'critique',
			severity: 'warning',
			at: [next.made.place, revision.made.place],
			quotes: [...critique].map(([aspect, words]) => ({ label: aspect, text: quote(words) })),
		} as const;
		if (carried.length > 0 || unchanged) {
			const names = carried.map(([aspect]) => `"${aspect}"`);
			findings.push({
				...common,
				title: unchanged ? 'The critique had no effect' : 'The critique was repeated',
				text:
					(unchanged ? `The answer in ${to} is the same as in ${from}, despite its critique. ` : '') +
					(names.length > 0
						? `${listed(names)} from ${from} ${names.length > 1 ? 'appear' : 'appears'} verbatim in ${to}.`
						: ''),
			});
		} else if (next.critique === null && i + 1 === revisions.length - 1) {
			findings.push({
				...common,
				title: 'The last revision has no reflection',
				text: `The last revision, in ${to}, has no reflection, so it is unknown whether it fixes what ${from} identified as missing or superfluous.`,
			});
		}
	});
	return findings;
}

function revisionOf(made: MadeCall): Revision | null {
	const given = made.call.arguments;
	const answer = textField(given, 'answer');
	if (answer === null) return null;
	const reflection = field(given, 'reflection') ?? field(given, 'critique');
	if (!isTable(reflection)) return { made, answer, critique: null };
	const critique = new Map<string, string>();
	for (const aspect of aspects) {
		const words = textField(reflection, aspect);
		if (words !== null && !nothing.test(words)) critique.set(aspect, words);
	}
	return { made, answer, critique };
}

const same = (one: string, other: string): boolean => normal(one) === normal(other);
const normal = (words: string): string =>
	words
		.toLowerCase()
		.replace(/[^\p{L}\p{N}]+/gu, ' ')
		.trim();
