import { medianOf } from '../diagnosis/series.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { StepSplit } from './search.ts';
import { stepRuleOf } from './stepRule.ts';

/** A completion sampled by a search's policy. */
export interface SampledText {
	readonly text: string;
	/** Number of tokens; null if not recorded. */
	readonly tokens: number | null;
}

export interface SuggestedSplit {
	/** A rule by name; see {@link StepSplit}. */
	readonly split: Extract<StepSplit, string>;
	/** Median number of steps per completion. */
	readonly steps: number;
}

/** Separator rules, from longest to shortest steps. */
const separated = ['paragraphs', 'lines', 'sentences'] as const;
/** Range of step counts that are worth searching. With fewer steps, a search only chooses among whole completions. */
const [fewest, most] = [3, 60] as const;
/** Number of steps to aim for with a rule that counts tokens. */
const tokenSteps = 4;
/** Maximum length of text in which to count steps, because a run's text can be arbitrarily long. */
const counted = { characters: 20_000, steps: 200 } as const;

/**
 * Returns the rule with the longest steps that still splits completions into several steps. If their text has no
 * separators, returns a number of tokens, or null if token counts are unknown too.
 */
export function suggestSplit(samples: readonly SampledText[], tags: TraceTags): SuggestedSplit | null {
	const texts = samples.filter(({ text }) => text.trim() !== '');
	for (const split of separated) {
		const steps = medianOf(texts.map(({ text }) => countSteps(text, split, tags)));
		if (steps >= fewest && steps <= most) return { split, steps };
	}
	const tokens = medianOf(texts.flatMap((sample) => sample.tokens ?? []));
	if (Number.isNaN(tokens)) return null;
	const size = 2 ** Math.floor(Math.log2(Math.max(1, tokens / tokenSteps)));
	if (size < 2) return { split: 'completion', steps: 1 };
	return { split: `tokens-${size}`, steps: Math.ceil(tokens / size) };
}

/** Counts the steps that a search would split a completion into. */
function countSteps(completion: string, split: (typeof separated)[number], tags: TraceTags): number {
	const rule = stepRuleOf(split, tags);
	let rest = completion.slice(0, counted.characters);
	let steps = 0;
	while (rule !== null && rest !== '' && steps < counted.steps) {
		const end = rule.end(rest);
		if (end < 0) return rule.empty(rest) ? steps : steps + 1;
		steps++;
		rest = rest.slice(end);
	}
	return steps;
}
