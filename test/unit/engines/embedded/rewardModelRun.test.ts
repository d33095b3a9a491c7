import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { RewardSample } from '../../../../src/core/reward/rewardSample.ts';
import { createBuiltIn } from '../../../../src/rewards/builtIns.ts';
import { connectServed } from '../../../../src/runs/runControl.ts';
import { listCheckpoints, readMetrics } from '../../../../src/runs/runReader.ts';
import { sample } from '../../core/reward/rewardSamples.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkResume, uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';
import { readOutcome } from './runOutcome.ts';

/** For each pair, the answer that ends in the second operand is preferred, regardless of length. */
const lines = Array.from({ length: 100 }, (_, i) => {
	const [a, b] = [i % 10, Math.floor(i / 10)];
	return { prompt: `${a}+${b}=`, chosen: `${a}+`, rejected: `${a}=` };
});

async function recipeOf(place: Workplace, steps: number) {
	const path = join(place.folder, 'pairs.jsonl');
	await writeFile(path, lines.map((line) => JSON.stringify(line)).join('\n'));
	const stage = { type: 'reward-model', steps, learning_rate: 3e-3, batch_size: 16 };
	return {
		...tinyRecipe,
		template: 'plain',
		rewards: [{ use: 'accuracy' }],
		workers: 2,
		model: { ...tinyRecipe.model, context: 40 },
		evaluate: { every: 5, problems: 8 },
		checkpoint: { every: 3, keep: 100 },
		stages: [
			{ type: 'sft', steps: 3, learning_rate: 1e-2, batch_size: 32 },
			{ ...stage, pairs: { path, heldOutShare: 0.2 } },
		],
	};
}

test('a reward model separates held-out pairs without changing the policy, and is saved and served', async () => {
	await using place = await Workplace.make();
	const recipe = await recipeOf(place, 20);
	const whole = await uninterrupted(place, recipe, true);
	const { run } = whole;
	const lines = (await readMetrics(run)).filter(({ stage }) => stage === 'reward-model');
	assert.equal(lines.length, 20);
	assert.ok(Math.abs((lines[0]?.values.loss as number) - Math.LN2) < 1e-6, 'the initial reward of every text is 0');
	const last = lines.at(-1)?.values;
	assert.ok((last?.['eval/accuracy'] as number) >= 0.95, `${last?.['eval/accuracy']}`);
	assert.ok((last?.['eval/margin'] as number) > 0.5);
	assert.ok((last?.['eval/loss'] as number) < 0.5);
	assert.equal(last?.['eval/heldout/accuracy'], undefined);
	const weights = async (step: number) => {
		const found = (await listCheckpoints(run)).find((one) => one.step === step);
		return found?.path as string;
	};
	const folder = await weights(23);
	const server = place.start('--serve', folder);
	await server.firstLine;
	const client = await connectServed(folder, 'test');
	try {
		assert.ok(client.engine.capabilities.includes('head.reward'));
		const asked = { prompts: ['1+2=', '1+2='], completions: ['1+', '1='] };
		const { values } = await client.request('policy/value', { ...asked, head: 'reward', tokens: false });
		assert.ok((values[0] as number) > (values[1] as number) + 0.5, `${values}`);
		await checkAsReward(folder, values);
	} finally {
		client.dispose();
		server.kill('SIGTERM');
		await server.exit;
	}
	// A run resumed during reward-model training ends as if uninterrupted.
	await checkResume(place, whole, 12);
});

/** Checks the rewards that the checkpoint assigns; a row it cannot score gets its own error. */
async function checkAsReward(folder: string, [better, worse]: readonly number[]) {
	const entry = { use: 'reward-model', name: 'judge', path: folder };
	const context = { tags: { think: null, answer: null }, task: null, folder: '/', prompt: '1{prompt}' };
	const reward = await createBuiltIn(entry, context);
	const never = new AbortController().signal;
	try {
		const rows = ['1+', '1='.repeat(40), '1='].map((completion) => sample(completion, { prompt: '+2=' }));
		const [first, long, last] = (await reward.scoreAll?.(rows, never)) ?? [];
		assert.ok(Math.abs((first as number) - (better as number)) < 1e-5, `${first} ${better}`);
		assert.ok(Math.abs((last as number) - (worse as number)) < 1e-5, `${last} ${worse}`);
		assert.match(String(long), /cannot score this row: .*exceeds the context of 40 tokens/);
		const bounded = await createBuiltIn({ ...entry, activation: 'sigmoid' }, context);
		const value = await bounded.score(rows[0] as RewardSample, never);
		assert.ok(Math.abs((value as number) - 1 / (1 + Math.exp(-(better as number)))) < 1e-5, `${value}`);
		bounded.dispose?.();
	} finally {
		reward.dispose?.();
	}
	// Step 3 ends the cold start, before any reward model is trained.
	const before = join(dirname(folder), 'step_000003');
	await assert.rejects(
		createBuiltIn({ ...entry, path: before }, context),
		/step_000003 does not contain a reward model\. Use a/,
	);
}

test('scores do not depend on the worker count', async () => {
	await using place = await Workplace.make();
	const outcomes = [];
	for (const workers of [1, 2]) {
		const run = await place.prepare({ ...(await recipeOf(place, 2)), workers });
		assert.equal((await runHere(place, run)).code, 0);
		outcomes.push((await readOutcome(run)).heads);
	}
	assert.ok((outcomes[0]?.[2] ?? '') !== '');
	assert.deepEqual(outcomes[0], outcomes[1]);
});
