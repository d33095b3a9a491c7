import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isHeldOut, taskHeldOutShare } from '../../../../src/core/dataset/split.ts';
import { learnabilityReward } from '../../../../src/core/reward/learnabilityReward.ts';
import { readMetrics, readRollouts } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkResume, uninterrupted } from './killResume.ts';

const place = await Workplace.make();
after(() => place[Symbol.asyncDispose]());

const size = 4;
const sft = { type: 'sft', steps: 150, learning_rate: 1e-2, batch_size: 16 };
const grpo = { type: 'grpo', steps: 2, num_generations: size, learning_rate: 2e-3 };
const recipe = {
	...tinyRecipe,
	dataset: { task: 'addition', digits: 1, proposed: 0.5 },
	rewards: [{ use: 'accuracy' }, { use: 'format', weight: 0.1 }, { use: 'learnability', weight: 0.5 }],
	stages: [sft, { ...grpo, prompts_per_step: 2 * (1 + size), proposals: { invalid_reward: -1 } }],
};

test('a batch has proposals, and a group of answers for each distinct problem among them', async () => {
	const { run } = await uninterrupted(place, recipe, true);
	let answered = 0;
	for (const step of [151, 152]) {
		const rollouts = (await readRollouts(run, step)).map((line) => ({
			...line,
			prompt: String(line.prompt),
			completion: String(line.completion),
		}));
		const proposals = rollouts.slice(0, 2 * size);
		const answers = rollouts.slice(2 * size);
		const rates = new Map<string, number>();
		for (let i = 0; i < answers.length; i += size) {
			const group = answers.slice(i, i + size);
			const [{ prompt = '', answer } = {}] = group;
			assert.match(prompt, /^\d\+\d=$/);
			const [a = 0, b = 0] = prompt.match(/\d/g)?.map(Number) ?? [];
			assert.equal(answer, String(a + b));
			assert.ok(!isHeldOut(a < b ? `${a}+${b}` : `${b}+${a}`, taskHeldOutShare), prompt);
			assert.ok(!rates.has(prompt), `${prompt} has one group`);
			assert.ok(group.every((one) => one.prompt === prompt && one.rewards.learnability === null));
			rates.set(prompt, group.reduce((sum, { rewards }) => sum + Number(rewards.accuracy), 0) / size);
		}
		const posed = new Set<string>();
		for (const { prompt, completion, rewards, reward } of proposals) {
			assert.match(prompt, /^\d\+\?$/);
			assert.deepEqual([rewards.accuracy, rewards.format], [null, null], 'other rewards only judge answers');
			const operand = /^<think>[^<]*<\/think><answer>(\d)<\/answer>$/.exec(completion)?.[1];
			const problem = operand === undefined ? undefined : `${prompt.slice(0, 2)}${operand}=`;
			const rate = problem === undefined ? undefined : rates.get(problem);
			if (rate !== undefined) {
				posed.add(problem as string);
				assert.equal(rewards.learnability, learnabilityReward(rate));
				assert.equal(reward, 0.5 * learnabilityReward(rate));
			} else if (operand === undefined && !/^<think>[^<]*<\/think><answer>\s*\d\s*<\/answer>$/.test(completion)) {
				assert.equal(rewards.learnability, -1, completion);
			} else assert.equal(rewards.learnability, null, `${problem} is held out`);
		}
		assert.deepEqual([...posed].sort(), [...rates.keys()].sort(), 'every answered problem was proposed');
		answered += rates.size;
	}
	assert.ok(answered > 4, `${answered} problems`);
	const lines = await readMetrics(run);
	const last = lines.at(-1)?.values ?? {};
	assert.ok(Number(last['proposals/valid']) > 0 && Number(last['proposals/distinct']) > 0);
});

test('proposals survive resumes, with grpo and rloo, in batches sampled ahead, and with any number of workers', async () => {
	const stages = [
		{ ...sft, steps: 60 },
		{ ...grpo, steps: 5, prompts_per_step: 1 + size, proposals: {}, max_staleness: 2 },
		{ ...grpo, type: 'rloo', steps: 3, prompts_per_step: 2 * (1 + size), proposals: { invalid_reward: -1 } },
		{ ...grpo, prompts_per_step: 2 },
	];
	const resumed = { ...recipe, stages, workers: 2, checkpoint: { every: 2, keep: 8 } };
	const whole = await uninterrupted(place, resumed, true);
	const alone = await uninterrupted(place, { ...resumed, workers: 1 }, true);
	assert.equal(alone.outcome.weights, whole.outcome.weights);
	const lines = (await readMetrics(whole.run)).filter(({ stage }) => stage !== 'sft');
	assert.deepEqual(
		lines.map(({ values }) => values['proposals/valid'] !== undefined),
		[...new Array<boolean>(8).fill(true), false, false],
	);
	assert.ok(lines.some(({ values }) => Number(values['proposals/valid']) > 0));
	assert.ok(lines.some(({ values }) => values['sample/staleness_max'] === 2));
	const prompts = new Set<string>();
	for (const { step } of lines.slice(0, 8)) {
		for (const { prompt } of (await readRollouts(whole.run, step)).slice(0, size)) prompts.add(`${step} ${prompt}`);
	}
	assert.equal(prompts.size, 8, 'one prompt per group of proposals');
	// At this step, batches have been sampled ahead.
	await checkResume(place, whole, 62);
});

test('proposed problems that are always or never solved earn no reward; among the others, harder ones earn more', () => {
	assert.deepEqual([0, 0.25, 0.75, 1].map(learnabilityReward), [0, 0.75, 0.25, 0]);
});
