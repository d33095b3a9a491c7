import type { Behavior } from './behaviorNames.ts';
import { behaviors } from './behaviorNames.ts';
import { englishPhrases, otherPhrases } from './behaviorPhrases.ts';
import type { Span, Trace } from './trace.ts';

export interface BehaviorMark extends Span {
	readonly behavior: Behavior;
	/** Display name and description. */
	readonly title: string;
}

export const behaviorTitles: Readonly<Record<Behavior, string>> = {
	verification: 'Verification: checks a result',
	backtracking: 'Backtracking: abandons a path and tries another',
	'subgoal-setting': 'Subgoal setting: breaks the problem into steps',
	'backward-chaining': 'Backward chaining: works backward from the goal',
	reflection: 'Reflection: pauses to reconsider',
};

const byPhrase = new Map<string, Behavior>();
for (const list of [englishPhrases, ...Object.values(otherPhrases)]) {
	for (const behavior of behaviors) for (const phrase of list[behavior]) byPhrase.set(phrase, behavior);
}

/**
 * Builds a regex from phrases, which must not contain regex syntax. If several phrases start at the same position, the
 * longest one wins. Only whole words match, except in scripts without spaces.
 */
function patternOf(lists: readonly Readonly<Record<Behavior, readonly string[]>>[]): RegExp {
	const all = [...new Set(lists.flatMap((list) => behaviors.flatMap((behavior) => list[behavior])))];
	const oneOf = (some: readonly string[]) =>
		[...some]
			.sort((a, b) => b.length - a.length)
			.map((phrase) => phrase.replace(/'/g, "['\u2019]"))
			.join('|');
	const unspaced = all.filter((phrase) => /\p{Script=Han}/u.test(phrase));
	const words = all.filter((phrase) => !unspaced.includes(phrase));
	const whole = `(?<![\\p{L}\\p{N}_])(?:${oneOf(words)})(?![\\p{L}\\p{N}_])`;
	return new RegExp(unspaced.length === 0 ? whole : `${whole}|${oneOf(unspaced)}`, 'giu');
}

const patterns = {
	english: patternOf([englishPhrases]),
	all: patternOf([englishPhrases, ...Object.values(otherPhrases)]),
} as const;

const maxMarks = 10_000;

/**
 * Finds up to 10,000 behaviors, in order and without overlaps. Offsets are UTF-16 code units in `text`. Searches the
 * thinking section, or the whole text if the trace has none (a template without tags).
 *
 * Phrase matching is only a rough measure, because it detects wording rather than behavior. Thinking can verify a
 * result without any of the phrases, and "wait" can be meaningless; Gandhi et al. used a language model as a judge. Use
 * the counts to compare rollouts within a run, not as a score. Counts are 0 in languages without a phrase list.
 * @param languages `all`: English, Chinese, German, French, Spanish and Russian phrases
 */
export function findBehaviors(
	text: string,
	trace: Pick<Trace, 'thinkSpan' | 'tags'> | null = null,
	languages: 'english' | 'all' = 'all',
): BehaviorMark[] {
	const span =
		trace?.thinkSpan ??
		(trace !== null && trace.tags.length > 0 ? { start: 0, end: 0 } : { start: 0, end: text.length });
	const marks: BehaviorMark[] = [];
	for (const match of text.slice(span.start, span.end).matchAll(patterns[languages])) {
		const behavior = byPhrase.get(match[0].toLowerCase().replaceAll('\u2019', "'"));
		if (behavior === undefined) continue;
		const start = span.start + match.index;
		marks.push({ start, end: start + match[0].length, behavior, title: behaviorTitles[behavior] });
		if (marks.length >= maxMarks) break;
	}
	return marks;
}

/** Returns the count of each behavior. */
export function countBehaviors(marks: readonly BehaviorMark[]): Record<Behavior, number> {
	const counts = Object.fromEntries(behaviors.map((behavior) => [behavior, 0])) as Record<Behavior, number>;
	for (const { behavior } of marks) counts[behavior]++;
	return counts;
}
