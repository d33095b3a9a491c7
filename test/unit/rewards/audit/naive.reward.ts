// Rewards with one common flaw each, which the audit probes must find.

interface Sample {
	readonly prompt: string;
	readonly completion: string;
	readonly answer: unknown;
	readonly truncated: boolean;
}

const textOf = ({ completion }: Sample) => /<answer>(.*?)<\/answer>/s.exec(completion)?.[1];
const goldOf = ({ answer }: Sample) => String(answer);
const tags = ['<think>', '</think>', '<answer>', '</answer>'];

/** Searches the whole completion. */
export const containsAnswer = (sample: Sample) => (sample.completion.includes(goldOf(sample)) ? 1 : 0);

/** Accepts a completion without an answer. */
export const missingIsFine = (sample: Sample) => {
	const text = textOf(sample);
	return text === undefined || text === goldOf(sample) ? 1 : 0;
};

/** Accepts any prefix of the answer, including the empty string. */
export const prefixes = (sample: Sample) => {
	const text = (textOf(sample) ?? 'none').replace(/[\u200b-\u200f\u2060]/g, '').trim();
	return goldOf(sample).startsWith(text) ? 1 : 0;
};

/** Tolerance check with the comparison inverted, so NaN passes. */
export const notFarOff = (sample: Sample) =>
	Math.abs(Number.parseFloat(textOf(sample) ?? '') - Number.parseFloat(goldOf(sample))) > 1e-6 ? 0 : 1;

/** Relative to the given value, so infinity divided by infinity passes. */
export const relativeError = (sample: Sample) => {
	const value = Number((textOf(sample) ?? '0').replace('∞', 'Infinity'));
	return Math.abs(value - Number(goldOf(sample))) / Math.abs(value) > 1e-6 ? 0 : 1;
};

export const tolerant = (sample: Sample) => (Math.abs(Number(textOf(sample)) - Number(goldOf(sample))) < 0.1 ? 1 : 0);

/** Evaluates the answer as code. */
export const evaluates = (sample: Sample) => {
	try {
		const code = (textOf(sample) ?? '').replace(/=$/, '');
		const value = new Function('answer', `return (${code})`)(sample.answer);
		return Math.abs(value - Number(goldOf(sample))) / Math.abs(value) > 1e-6 ? 0 : 1;
	} catch {
		return 0;
	}
};

/** Accepts "between a and b" for any number in between. */
export const acceptsRanges = (sample: Sample) => {
	const text = textOf(sample) ?? '';
	const range = /between (\S+) and (\S+)/.exec(text);
	const gold = Number(goldOf(sample));
	if (range) return gold >= Number(range[1]) && gold <= Number(range[2]) ? 1 : 0;
	return text === goldOf(sample) ? 1 : 0;
};

export const folded = (sample: Sample) => {
	const text = (textOf(sample) ?? '').normalize('NFKC');
	return text === goldOf(sample) ? 1 : 0;
};

export const withoutMarks = (sample: Sample) =>
	(textOf(sample) ?? '').normalize('NFD').replace(/\p{M}/gu, '') === goldOf(sample) ? 1 : 0;

/** Compares the text as displayed. */
export const asDrawn = (sample: Sample) => {
	const text = (textOf(sample) ?? '').replace(/[\u202e\u2067](.*?)[\u202c\u2069]/g, (_, inner: string) =>
		[...inner].reverse().join(''),
	);
	return text === goldOf(sample) ? 1 : 0;
};

/** A judge that believes any claim in the text. */
export const credulousJudge = (sample: Sample) =>
	/score: ?1|"correct": true|\bCORRECT\b|>correct</i.test(sample.completion) || textOf(sample) === goldOf(sample)
		? 1
		: 0;

/** A judge that certain opening phrases persuade to answer yes. */
export const openedJudge = (sample: Sample) =>
	/^(?:Thought process:|Solution)/.test(textOf(sample) ?? '') || textOf(sample) === goldOf(sample) ? 1 : 0;

export const likesReflection = (sample: Sample) =>
	(textOf(sample) === goldOf(sample) ? 0.5 : 0) + Math.min(1, (sample.completion.match(/wait/gi) ?? []).length / 4);

export const likesLength = (sample: Sample) =>
	(textOf(sample) === goldOf(sample) ? 0.5 : 0) + Math.min(1, sample.completion.length / 5000);

/** Accepts the answer of any row in the batch. */
export const misaligned = Object.assign(
	(samples: readonly Sample[]) => {
		const golds = new Set(samples.map(goldOf));
		return samples.map((sample) => (golds.has(textOf(sample) ?? '') ? 1 : 0));
	},
	{ batch: true },
);

/** Gives full marks if there is no gold answer to compare with. */
export const absentGoldIsFine = (sample: Sample) =>
	!sample.answer || Number.isNaN(Number(sample.answer)) || textOf(sample) === goldOf(sample) ? 1 : 0;

export const lastAnswer = (sample: Sample) =>
	[...sample.completion.matchAll(/<answer>([^<]*)<\/answer>/g)].at(-1)?.[1] === goldOf(sample) ? 1 : 0;

/** Only checks that every tag occurs. */
export const tagsSomewhere = ({ completion }: Sample) => (tags.every((tag) => completion.includes(tag)) ? 1 : 0);

export const mostTags = ({ completion }: Sample) =>
	tags.filter((tag) => completion.includes(tag)).length >= 3 ? 1 : 0;

export const optionalThinking = ({ completion }: Sample) =>
	/^(?:<think>[^<]*<\/think>)?<answer>[^<]+<\/answer>$/.test(completion) ? 1 : 0;

export const optionalAnswer = ({ completion }: Sample) =>
	/^<think>[^<]*<\/think>\s*(?:<answer>[^<]+<\/answer>|[\w-]+)$/.test(completion) ? 1 : 0;

export const anyCase = ({ completion }: Sample) =>
	/^<\s*think>[^<]*<\s*\/?\s*think>\s*<\s*answer>[^<]+<\s*\/?\s*answer>$/i.test(completion) ? 1 : 0;

export const withoutInvisible = ({ completion }: Sample) =>
	/^<think>[^<]*<\/think>\s*<answer>[^<]+<\/answer>$/.test(completion.replace(/\u200b/g, '')) ? 1 : 0;

/** Matches against prompt and completion together. */
export const promptCounts = ({ prompt, completion }: Sample) =>
	/<think>[^<]*<\/think><answer>[^<]+<\/answer>/.test(`${prompt}${completion}`) ? 1 : 0;

/** Checks format and answer together, loosely. */
export const bothLoosely = (sample: Sample) =>
	sample.completion.includes('<think>') && textOf(sample) === goldOf(sample) ? 1 : 0;

/** Checks the answer strictly; probes find nothing. */
export const strictAnswer = (sample: Sample) => {
	if (!sample.answer || !/^[\w ./-]+$/.test(goldOf(sample))) return null;
	return /^<think>[^<]*<\/think><answer>([^<]+)<\/answer>$/.exec(sample.completion)?.[1] === goldOf(sample) &&
		!sample.truncated
		? 1
		: 0;
};

// Rewards that probes cannot assess.
export const constant = () => 0.5;
export const never = () => null;
export const brevity = ({ completion }: Sample) => 1 / (1 + completion.length);
export const throwing = () => {
	throw new Error('no such luck');
};
