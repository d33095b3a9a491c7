import type { Span, Trace } from './trace.ts';

/**
 * The four behaviours that mark models which improve by reinforcement learning (Gandhi et al. 2025, "Cognitive behaviors
 * that enable self-improving reasoners"), and the words of pausing that R1-Zero's "aha moment" made known (Guo et al. 2025).
 */
export const behaviours = [
	'verification',
	'backtracking',
	'subgoal-setting',
	'backward-chaining',
	'reflection',
] as const;
export type Behaviour = (typeof behaviours)[number];

export interface BehaviourMark extends Span {
	readonly behaviour: Behaviour;
	/** What the mark means, for people. */
	readonly title: string;
}

export const behaviourTitles: Readonly<Record<Behaviour, string>> = {
	verification: 'Verification: checks a result',
	backtracking: 'Backtracking: gives up a path and takes another',
	'subgoal-setting': 'Subgoal setting: breaks the problem into steps',
	'backward-chaining': 'Backward chaining: works from the goal back',
	reflection: 'Reflection: pauses to think again',
};

/**
 * Phrases by which a behaviour shows in English text. A list of words is a rough measure: it finds what is said, not what is
 * done. Phrases are fixed texts without repetition, so that a search is linear.
 */
const phrases: Readonly<Record<Behaviour, readonly string[]>> = {
	verification: [
		'let me check',
		"let's check",
		'let me verify',
		"let's verify",
		'double-check',
		'double check',
		'verifying',
		'to verify',
		'check this',
		'check that',
		'check the answer',
		'check my',
		'checking',
		'which matches',
		'as expected',
		'this is correct',
		"that's correct",
		'that is correct',
		'is consistent',
		'plug it back',
		'plugging back',
		'sanity check',
	],
	backtracking: [
		"that's wrong",
		'that is wrong',
		'this is wrong',
		'this is incorrect',
		'that is incorrect',
		"that's not right",
		'not right',
		"doesn't work",
		'does not work',
		"won't work",
		'will not work',
		"didn't work",
		'made a mistake',
		'made an error',
		'start over',
		'go back',
		'going back',
		'try again',
		'try another',
		'another approach',
		'different approach',
		'another way',
		'instead, let',
		"let's try",
		'let me try',
		'too large',
		'too small',
		'too big',
		'too high',
		'too low',
		'scratch that',
		'on second thought',
	],
	'subgoal-setting': [
		'first,',
		'first step',
		'second,',
		'second step',
		'third,',
		'next,',
		'next step',
		'then,',
		'finally,',
		'step 1',
		'step 2',
		'step 3',
		'step 4',
		'step 5',
		'step 6',
		'step 7',
		'step 8',
		'step 9',
		'the first thing',
		'break this down',
		'break it down',
		'break down the',
		'we first need',
		'i first need',
		'need to find',
		'our goal is',
		'subgoal',
		'sub-problem',
		'subproblem',
	],
	'backward-chaining': [
		'work backwards',
		'work backward',
		'working backwards',
		'working backward',
		'worked backwards',
		'start from the target',
		'starting from the target',
		'start from the goal',
		'start from the answer',
		'to get to the target',
		'to reach the target',
		'in reverse',
		'what would give',
		'what gives',
		'for this to be',
		'we would need',
		"we'd need",
		'it must be that',
	],
	reflection: [
		'wait',
		'hmm',
		'hm,',
		'aha',
		'actually',
		'hold on',
		'but then again',
		'think again',
		'rethink',
		'reconsider',
		're-examine',
		'reexamine',
		're-evaluate',
		'reevaluate',
		'recheck',
		're-check',
		'alternatively',
		'let me see',
		'let me think',
		'on the other hand',
	],
};

const byPhrase = new Map<string, Behaviour>();
for (const behaviour of behaviours) for (const phrase of phrases[behaviour]) byPhrase.set(phrase, behaviour);

/** Phrases hold nothing that a pattern would take for its own. The longest phrase wins where several start; words are whole. */
const pattern = new RegExp(
	`(?<![\\p{L}\\p{N}_])(?:${[...byPhrase.keys()]
		.sort((a, b) => b.length - a.length)
		.map((phrase) => phrase.replace(/'/g, "['\u2019]"))
		.join('|')})(?![\\p{L}\\p{N}_])`,
	'giu',
);

const mostMarks = 10_000;

/**
 * Where the behaviours show, in order and without overlaps, at most 10,000. Offsets are UTF-16 code units of `text`. The
 * thinking is searched when the trace has some, else the whole text (a template without tags).
 */
export function findBehaviours(text: string, trace: Pick<Trace, 'thinkSpan' | 'tags'> | null = null): BehaviourMark[] {
	const span =
		trace?.thinkSpan ??
		(trace !== null && trace.tags.length > 0 ? { start: 0, end: 0 } : { start: 0, end: text.length });
	const marks: BehaviourMark[] = [];
	for (const match of text.slice(span.start, span.end).matchAll(pattern)) {
		const behaviour = byPhrase.get(match[0].toLowerCase().replaceAll('\u2019', "'"));
		if (behaviour === undefined) continue;
		const start = span.start + match.index;
		marks.push({ start, end: start + match[0].length, behaviour, title: behaviourTitles[behaviour] });
		if (marks.length >= mostMarks) break;
	}
	return marks;
}

/** How often each behaviour shows. */
export function countBehaviours(marks: readonly BehaviourMark[]): Record<Behaviour, number> {
	const counts = Object.fromEntries(behaviours.map((behaviour) => [behaviour, 0])) as Record<Behaviour, number>;
	for (const { behaviour } of marks) counts[behaviour]++;
	return counts;
}
