import type { Behaviour } from './behaviorNames.ts';
import { behaviours } from './behaviorNames.ts';
import { englishPhrases, otherPhrases } from './behaviourPhrases.ts';
import type { Span, Trace } from './trace.ts';

export interface BehaviourMark extends Span {
	readonly behaviour: Behaviour;
	/** What the mark means, for people. */
	readonly title: string;
}

export const behaviourTitles: Readonly<Record<Behaviour, string>> = {
	verification: 'Verification: checks a result',
	backtracking: 'Backtracking: abandons a path and tries another',
	'subgoal-setting': 'Subgoal setting: breaks the problem into steps',
	'backward-chaining': 'Backward chaining: works backward from the goal',
	reflection: 'Reflection: pauses to think again',
};

const byPhrase = new Map<string, Behaviour>();
for (const list of [englishPhrases, ...Object.values(otherPhrases)]) {
	for (const behaviour of behaviours) for (const phrase of list[behaviour]) byPhrase.set(phrase, behaviour);
}

/**
 * Finds phrases, which hold nothing that a pattern would take for its own. The longest phrase wins where several start; words
 * are whole, but in scripts that write without blanks.
 */
function patternOf(lists: readonly Readonly<Record<Behaviour, readonly string[]>>[]): RegExp {
	const all = [...new Set(lists.flatMap((list) => behaviours.flatMap((behaviour) => list[behaviour])))];
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

const mostMarks = 10_000;

/**
 * Where the behaviors show, in order and without overlaps, at most 10,000. Offsets are UTF-16 code units of `text`. The
 * thinking is searched when the trace has some, else the whole text (a template without tags).
 *
 * A list of phrases is a rough measure: it finds what is said, not what is done. A thinking can check its result without a
 * word of it, and "wait" can be empty; Gandhi et al. let a language model judge. So the counts compare rollouts of one run
 * with each other; they are no score, and in languages without a list they are 0.
 * @param languages `all`: English, Chinese, German, French, Spanish and Russian phrases
 */
export function findBehaviours(
	text: string,
	trace: Pick<Trace, 'thinkSpan' | 'tags'> | null = null,
	languages: 'english' | 'all' = 'all',
): BehaviourMark[] {
	const span =
		trace?.thinkSpan ??
		(trace !== null && trace.tags.length > 0 ? { start: 0, end: 0 } : { start: 0, end: text.length });
	const marks: BehaviourMark[] = [];
	for (const match of text.slice(span.start, span.end).matchAll(patterns[languages])) {
		const behaviour = byPhrase.get(match[0].toLowerCase().replaceAll('\u2019', "'"));
		if (behaviour === undefined) continue;
		const start = span.start + match.index;
		marks.push({ start, end: start + match[0].length, behaviour, title: behaviourTitles[behaviour] });
		if (marks.length >= mostMarks) break;
	}
	return marks;
}

/** How often each behavior shows. */
export function countBehaviours(marks: readonly BehaviourMark[]): Record<Behaviour, number> {
	const counts = Object.fromEntries(behaviours.map((behaviour) => [behaviour, 0])) as Record<Behaviour, number>;
	for (const { behaviour } of marks) counts[behaviour]++;
	return counts;
}
