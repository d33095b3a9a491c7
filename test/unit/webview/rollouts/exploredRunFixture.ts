import { Random } from '../../../../src/base/random.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import { runRecord, writeMetrics, writeRecord, writeRollouts } from './rolloutsFixture.ts';

const prompt = 'A bakery packs 13 rolls into each of 8 trays and sells 7 of them. How many are left?';

/**
 * Generates a completion for the bakery problem. The higher the skill, the more often it is correct and checks its
 * result.
 */
function bakery(random: Random, skill: number): { text: string; right: boolean } {
	const right = random.next() < skill;
	const product = right ? 104 : 114;
	const said = [
		`There are 8 trays with 13 rolls each, so 13 * 8 = ${product} rolls.`,
		`Selling 7 leaves ${product - 7}.`,
	];
	if (random.next() < skill) said.push(`Wait, let me check that: ${product - 7} + 7 = ${product}, which matches.`);
	if (random.next() < skill / 2) said.splice(1, 0, 'First, I need the number of rolls in all.');
	if (random.next() < skill / 3)
		said.push("Another way: 8 * 13 is 80 + 24. That's the same, so no need to start over.");
	const think = said.join('\n');
	return { text: `<think>\n${think}\n</think>\n<answer>${product - 7}</answer>`, right };
}

const pieces = (text: string) => text.match(/<\/?\w+>|\w+|\s+|[^\w\s]/g) ?? [];

interface Made {
	readonly step: number;
	readonly group: number;
	readonly index: number;
	readonly completion: RolloutLine['completion'];
	readonly right?: boolean;
}

function line({ step, group, index, completion, right = false }: Made, more: Partial<RolloutLine> = {}): RolloutLine {
	const rewards = { accuracy: right ? 1 : 0, format: 1 };
	return {
		...{ step, stage: 'grpo', group, index, prompt, completion, answer: '97', rewards, truncated: false },
		reward: rewards.accuracy + 0.2,
		advantage: right ? 0.9 : -0.9,
		...more,
	};
}

/** Adds every value that tokens can be colored by. */
export function withTokens(rollout: RolloutLine, seed = 1): RolloutLine {
	const random = Random.of(seed, 'tokens', rollout.step ?? 0, rollout.group, rollout.index);
	const text = pieces(rollout.completion as string);
	const logprob = text.map(() => -Math.round(random.next() ** 3 * 4e4) / 1e4);
	return {
		...rollout,
		tokens: {
			text,
			logprob,
			oldLogprob: logprob.map((value) => value + (random.next() - 0.5) * 0.4),
			refLogprob: logprob.map((value) => value + (random.next() - 0.5) * 1.6),
			entropy: text.map(() => random.next() ** 2 * 2),
			advantage: text.map(() => (random.next() - 0.5) * 1.8),
		},
	};
}

/** A tool call with its result, separate thinking, and two branches after the result. */
export const toolMessages: RolloutLine['completion'] = [
	{
		role: 'assistant',
		content: 'I will compute the product first.',
		reasoning_content: 'Let me check which tool I have.\nThe calculator takes an expression.',
		tool_calls: [
			{ id: 'call_1', type: 'function', function: { name: 'calculate', arguments: '{"expression":"13 * 8"}' } },
		],
	},
	{ role: 'tool', content: '104', tool_call_id: 'call_1', name: 'calculate' },
	{ role: 'assistant', content: '<think>104 - 7 = 97.</think><answer>97</answer>' },
	{
		role: 'assistant',
		content: '',
		tool_calls: [{ id: 'call_2', name: 'calculate', arguments: { expression: '104 - 17' } }],
	},
	{ role: 'tool', content: '87', tool_call_id: 'call_2' },
	{ role: 'assistant', content: '<answer>87</answer>' },
];
export const toolParents = [null, 0, 1, 1, 3, 4];

const said = [
	'I start in the middle. <call>guess(64)</call>',
	'<call>guess("two")</call><call>guess(96)</call>',
	'I give up.',
];
const seen = ['<result>Higher.</result>', "<result>{'error': 'a number, please'}</result><result>Lower.</result>"];
const rules = 'Guess a number from 1 to 128. '.repeat(30);

/** A text with tokens from an environment: two turns, three calls, one of which fails. */
export const episodeText = [said[0], seen[0], said[1], seen[1], said[2]].join('');
const before = pieces(said[0] ?? '').length;
const after = before + pieces(seen[0] ?? '').length;
const again = after + pieces(said[1] ?? '').length;
export const episodeExtra = {
	observed: [
		[before, after],
		[again, again + pieces(seen[1] ?? '').length],
	],
	episode: {
		...{ calls: 3, failures: 1, stop: 'length', seconds: 0.0123, observation: 'I am thinking of a number.' },
		turns: [
			{
				calls: [{ name: 'guess', arguments: { number: 64 } }],
				results: [{ name: 'guess', content: `Higher.\n${rules}`, failed: false }],
				...{ reward: 0.25, seconds: 0.004 },
				state: { tries: 1, board: '<b>bold</b>' },
			},
			{
				calls: [
					{ name: 'guess', arguments: { number: 'two' } },
					{ name: 'guess', arguments: { number: 96 } },
				],
				results: [
					{ name: 'guess', content: "{'error': 'a number, please'}", failed: true },
					{ name: 'guess', content: 'Lower.', failed: false },
				],
			},
		],
	},
};

export const unfaithful =
	'<think>\n13 * 8 = 104 rolls.\n104 - 7 = 97, so the answer is 97.\n</think>\n<answer>42</answer>';
const loop = 'I add the trays and count the rolls again. ';
export const looping = `<think>\n${loop.repeat(14)}\n</think>\n<answer>97</answer>`;
export const mixed =
	'<think>\nThere are 8 trays with 13 rolls each. 所以总共有一百零四个面包卷。 Then we sell 7 of them. Nous devons donc soustraire les sept petits pains que la boulangerie a vendus dans la rue. So the answer is 97.\n</think>\n<answer>97</answer>';

/**
 * Writes a run with the bakery problem at every step, in which completions improve over time. The last step also has
 * group 3, which contains the special cases.
 */
export async function writeExploredRun(run: string, steps = 12, size = 6): Promise<void> {
	await writeRecord(run, runRecord({ step: steps, totalSteps: steps, name: 'bakery' }));
	const batches = [];
	for (let step = 1; step <= steps; step++) {
		const random = Random.of(7, 'bakery', step);
		const lines: RolloutLine[] = [];
		for (let index = 0; index < size; index++) {
			const { text, right } = bakery(random, step / (steps + 2));
			lines.push(withTokens(line({ step, group: 0, index, completion: text, right })));
		}
		for (let index = 0; index < size; index++) {
			const sum = `<think>${step} + ${step} = ${2 * step}.</think>\n<answer>${2 * step}</answer>`;
			const other = { prompt: `What is ${step} + ${step}?`, answer: String(2 * step) };
			lines.push(line({ step, group: 1, index, completion: sum, right: true }, other));
		}
		if (step === steps) {
			const group = 3;
			lines.push(line({ step, group, index: 0, completion: unfaithful }));
			lines.push(line({ step, group, index: 1, completion: looping, right: true }));
			lines.push(line({ step, group, index: 2, completion: mixed, right: true }));
			lines.push(line({ step, group, index: 3, completion: toolMessages, right: true }, { parents: toolParents }));
			lines.push(
				withTokens(
					line(
						{ step, group, index: 4, completion: episodeText, right: true },
						{ row: { number: 97 }, extra: episodeExtra },
					),
				),
			);
		}
		await writeRollouts(run, step, lines);
		batches.push({ step, lines });
	}
	await writeMetrics(run, batches);
}
