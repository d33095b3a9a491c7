import { formatPercent } from '../../src/base/format.ts';
import { type Behaviour, behaviours, behaviourTitles } from '../../src/core/trace/behaviours.ts';
import { checkFaithfulness, type Faithfulness } from '../../src/core/trace/faithfulness.ts';
import { findLanguageMix, type LanguageMix } from '../../src/core/trace/languageMix.ts';
import { findRepetition, type Repetition } from '../../src/core/trace/repetition.ts';
import type { TraceTags } from '../../src/core/trace/trace.ts';
import type { CompletionTrace } from '../lib/trace/completionTrace.ts';
import type { Mark } from '../lib/trace/marks.ts';

/** Kinds of marks that a person switches on: behaviors, text that repeats, another language, what is concluded. */
export const markKinds = [
	...behaviours.map((behaviour) => `behaviour-${behaviour}` as const),
	'repeated',
	'foreign',
	'concluded',
] as const;
export type MarkKind = (typeof markKinds)[number];

export const markNames: Readonly<Record<MarkKind, { readonly name: string; readonly title: string }>> = {
	...(Object.fromEntries(
		behaviours.map((behaviour) => [
			`behaviour-${behaviour}`,
			{ name: behaviourTitles[behaviour].split(':')[0] ?? behaviour, title: behaviourTitles[behaviour] },
		]),
	) as Record<`behaviour-${Behaviour}`, { name: string; title: string }>),
	repeated: { name: 'Repetition', title: 'Repetition: four words in a row that stood there before' },
	foreign: { name: 'Other language', title: 'Other language: another script or language than the rest of the text' },
	concluded: { name: 'Conclusion', title: 'Conclusion: what the thinking concludes, and what is answered' },
};

/** Short formulas repeat themselves; from here on a text does. */
const repeats = 0.2;
/** Share of letters from which on a text is called mixed. */
const mixed = 0.02;

/** What looking closer at a completion finds. */
export interface TextFindings {
	/** null: it cannot be told. */
	readonly faithfulness: Faithfulness | null;
	/** null: it does not repeat itself more than texts do. */
	readonly repetition: Repetition | null;
	/** null: one language. */
	readonly mix: LanguageMix | null;
	/** By start. */
	readonly marks: readonly Mark[];
}

export function findInText({ text, trace }: CompletionTrace, tags: TraceTags): TextFindings {
	const span = trace.thinkSpan ?? { start: 0, end: text.length };
	const faithfulness = checkFaithfulness(text, tags);
	const repetition = findRepetition(text, { span });
	const mix = findLanguageMix(text, span);
	const marks: Mark[] = [];
	const repeated = repetition.share >= repeats && repetition.repeated >= 4;
	if (repeated) {
		for (const place of repetition.places) marks.push({ ...place, kind: 'repeated', title: 'Stood there before' });
	}
	const isMixed = mix.foreign >= mixed && mix.stretches.length > 0;
	if (isMixed) {
		for (const { start, end, of } of mix.stretches)
			marks.push({ start, end, kind: 'foreign', title: languageName(of) });
	}
	if (faithfulness) {
		const kind = 'concluded';
		marks.push({ ...faithfulness.concludedAt, kind, title: 'What the thinking concludes' });
		marks.push({ ...faithfulness.answerAt, kind, title: 'What is answered' });
	}
	marks.sort((a, b) => a.start - b.start);
	return { faithfulness, repetition: repeated ? repetition : null, mix: isMixed ? mix : null, marks };
}

const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'code' });

/** "French" of "fr"; scripts have their own names. */
export function languageName(of: string): string {
	return /^[a-z]{2}$/.test(of) ? (names.of(of) ?? of) : of;
}

/** "Han, French (8% of the letters)" */
export function mixWords(mix: LanguageMix): string {
	const of = [...new Set(mix.stretches.slice(0, 100).map((stretch) => languageName(stretch.of)))];
	const more = of.length > 3 ? ', …' : '';
	return `${of.slice(0, 3).join(', ')}${more} (${formatPercent(mix.foreign, 0)} of the letters)`;
}

/** How many places of each kind a closer look found. */
export function findingCounts({ faithfulness, repetition, mix }: TextFindings): [MarkKind, number][] {
	const counts: [MarkKind, number][] = [];
	if (repetition) counts.push(['repeated', repetition.places.length]);
	if (mix) counts.push(['foreign', mix.stretches.length]);
	if (faithfulness && !faithfulness.agrees) counts.push(['concluded', 1]);
	return counts;
}
