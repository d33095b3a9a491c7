import { formatPercent } from '../../src/base/format.ts';
import { type Behavior, behaviors } from '../../src/core/trace/behaviorNames.ts';
import { behaviorTitles } from '../../src/core/trace/behaviors.ts';
import { checkFaithfulness, type Faithfulness } from '../../src/core/trace/faithfulness.ts';
import { findLanguageMix, type LanguageMix } from '../../src/core/trace/languageMix.ts';
import { findRepetition, type Repetition } from '../../src/core/trace/repetition.ts';
import type { TraceTags } from '../../src/core/trace/trace.ts';
import type { CompletionTrace } from '../lib/trace/completionTrace.ts';
import type { Mark } from '../lib/trace/marks.ts';

/** Highlight kinds: behaviors, repetition, other languages, conclusions. */
export const markKinds = [
	...behaviors.map((behavior) => `behavior-${behavior}` as const),
	'repeated',
	'foreign',
	'concluded',
] as const;
export type MarkKind = (typeof markKinds)[number];

export const markNames: Readonly<Record<MarkKind, { readonly name: string; readonly title: string }>> = {
	...(Object.fromEntries(
		behaviors.map((behavior) => [
			`behavior-${behavior}`,
			{ name: behaviorTitles[behavior].split(':')[0] ?? behavior, title: behaviorTitles[behavior] },
		]),
	) as Record<`behavior-${Behavior}`, { name: string; title: string }>),
	repeated: { name: 'Repetition', title: 'Repetition: a 4-gram that appeared earlier in the text' },
	foreign: {
		name: 'Other language',
		title: 'Other language: a script or language that differs from the rest of the text',
	},
	concluded: {
		name: 'Conclusion',
		title: 'Conclusion: the result reached in the thinking section, and the final answer',
	},
};

/**
 * Minimum fraction of repeated 4-grams for text to count as repetitive. Short formulas always repeat to some degree.
 */
const repeats = 0.2;
/** Minimum fraction of foreign letters for text to count as mixed-language. */
const mixed = 0.02;

/** Findings in a completion. */
export interface TextFindings {
	/** null if unknown. */
	readonly faithfulness: Faithfulness | null;
	/** null if there is no unusual repetition. */
	readonly repetition: Repetition | null;
	/** null if the text is in one language. */
	readonly mix: LanguageMix | null;
	/** Sorted by start. */
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
		for (const place of repetition.places) marks.push({ ...place, kind: 'repeated', title: 'Repeated' });
	}
	const isMixed = mix.foreign >= mixed && mix.stretches.length > 0;
	if (isMixed) {
		for (const { start, end, of } of mix.stretches)
			marks.push({ start, end, kind: 'foreign', title: languageName(of) });
	}
	if (faithfulness) {
		const kind = 'concluded';
		marks.push({ ...faithfulness.concludedAt, kind, title: 'Conclusion in the thinking section' });
		marks.push({ ...faithfulness.answerAt, kind, title: 'Final answer' });
	}
	marks.sort((a, b) => a.start - b.start);
	return { faithfulness, repetition: repeated ? repetition : null, mix: isMixed ? mix : null, marks };
}

const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'code' });

/** Returns a language name, such as "French" for "fr". Scripts have their own names. */
export function languageName(of: string): string {
	return /^[a-z]{2}$/.test(of) ? (names.of(of) ?? of) : of;
}

/** Returns a summary such as "Han, French (8% of letters)". */
export function mixWords(mix: LanguageMix): string {
	const of = [...new Set(mix.stretches.slice(0, 100).map((stretch) => languageName(stretch.of)))];
	const more = of.length > 3 ? ', …' : '';
	return `${of.slice(0, 3).join(', ')}${more} (${formatPercent(mix.foreign, 0)} of letters)`;
}

/** Returns the number of occurrences of each kind. */
export function findingCounts({ faithfulness, repetition, mix }: TextFindings): [MarkKind, number][] {
	const counts: [MarkKind, number][] = [];
	if (repetition) counts.push(['repeated', repetition.places.length]);
	if (mix) counts.push(['foreign', mix.stretches.length]);
	if (faithfulness && !faithfulness.agrees) counts.push(['concluded', 1]);
	return counts;
}
