import { Random } from '../../../../src/base/random.ts';
import type { RewardSample } from '../../../../src/core/reward/rewardSample.ts';
import { parseTrace } from '../../../../src/core/trace/parseTrace.ts';
import type { TraceTags } from '../../../../src/core/trace/trace.ts';

export const r1 = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] } satisfies TraceTags as {
	think: [string, string];
	answer: [string, string];
};
export const untagged: TraceTags = { think: null, answer: null };

export function sample(completion: string, more: Partial<RewardSample> = {}, tags: TraceTags = r1): RewardSample {
	return {
		prompt: '1+1=',
		completion,
		answer: null,
		row: {},
		truncated: false,
		trace: parseTrace(completion, tags),
		...more,
	};
}

/** Returns a completion in the template's format. */
export const worked = (thinking: string, answer: string) => `<think>${thinking}</think><answer>${answer}</answer>`;

const pieces = [
	'<think>',
	'</think>',
	'<answer>',
	'</answer>',
	'12',
	' ',
	'\n',
	'\n\n',
	'wait ',
	'the sum of 3 and 4 is 7. ',
	'B',
	'(C) ',
	'\\boxed{D}',
	'{"a": 1}',
	'你好',
	'und das ist ',
	'$x^2$',
	'```\ncode\n```',
	'`',
	'\u200b',
	'e\u0301',
	'\ud83d\ude00',
	'\ud83d',
];

/** Returns completions with varied formats and content, deterministic for a seed. */
export function strangeCompletions(seed: string, n: number): string[] {
	const random = Random.of(seed);
	return Array.from({ length: n }, () => Array.from({ length: random.int(24) }, () => random.pick(pieces)).join(''));
}
