/**
 * Tests every stage that trains on rows through the real driver and trainer, starting from an embedded engine
 * checkpoint.
 */
// @reaches driver trainer
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import {
	listCheckpoints,
	readEvaluations,
	readEvents,
	readMetrics,
	readRecord,
	readRollouts,
} from '../../src/runs/runReader.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { labCheckpoint } from '../support/labCheckpoint.ts';
import { forkingPython } from '../support/loadedPython.ts';
import { withOneThread } from '../support/oneThread.ts';
import { builtProgram } from '../support/programs.ts';
import { Workplace } from '../unit/engines/embedded/engineProcess.ts';

const found = await findTestPython(console.log);
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const driver = builtProgram('dist/driver.js');

const sums = Array.from(
	{ length: 100 },
	(_, i) => [`${Math.floor(i / 10)}+${i % 10}=`, Math.floor(i / 10) + (i % 10)] as const,
);
const worked = (prompt: string, sum: number) => `<think>${prompt}${sum}</think><answer>${sum}</answer>`;

describe('pytorch engine stages', { skip, timeout: 280_000 }, async () => {
	const place = await Workplace.make(driver);
	after(() => place[Symbol.asyncDispose]());
	if ('python' in found) place.environment.REASONING_LAB_TORCH_PYTHON = forkingPython(found.python);
	place.environment.HF_HUB_OFFLINE = '1';

	const write = async (name: string, rows: readonly object[]) => {
		await writeFile(join(place.folder, name), rows.map((row) => JSON.stringify(row)).join('\n'));
		return name;
	};
	const common = { steps: 2, learning_rate: 3e-3, batch_size: 16 };
	const recipe = {
		name: 'stages',
		engine: 'pytorch',
		device: 'cpu',
		seed: 7,
		whenBusy: 'share',
		dataset: { task: 'addition', digits: 1 },
		model: { path: labCheckpoint },
		evaluate: { every: 2, problems: 8 },
		checkpoint: { every: 50 },
	};

	it('train in sequence, are evaluated, and leave checkpoints that later runs can start from', async () => {
		const pairs = await write(
			'pairs.jsonl',
			sums.map(([prompt, sum]) => ({ prompt, chosen: worked(prompt, sum), rejected: `<answer>${sum}</answer>` })),
		);
		const teacher = await write(
			'teacher.jsonl',
			sums.map(([prompt, sum]) => ({ prompt, completion: worked(prompt, sum + (sum % 2)), answer: sum })),
		);
		const steps = await write(
			'steps.jsonl',
			sums.map(([prompt, sum]) => ({
				prompt,
				completions: [`${prompt}${sum}`, `${sum}`],
				labels: [true, sum % 2 === 0],
			})),
		);
		const run = await place.prepare({
			...recipe,
			stages: [
				{ type: 'sft', ...common, until: { heldOutAccuracy: 1, every: 2, problems: 8 } },
				{ type: 'distill', ...common, data: { path: teacher }, minReward: 1 },
				{ type: 'dpo', ...common, pairs: { path: pairs }, trainer: { loss_type: ['ipo'] } },
				{ type: 'reward-model', ...common, pairs: { path: pairs } },
				{ type: 'process-reward-model', ...common, labels: { path: steps, separator: ';' } },
			],
		});
		const exit = await place.run('--run', await withOneThread(run));
		const record = await readRecord(run);
		assert.equal(exit.code, 0, `${exit.stderr} ${JSON.stringify(record.error)}`);
		assert.equal(record.status, 'finished');
		const metrics = await readMetrics(run);
		assert.deepEqual(
			metrics.map(({ step, stage }) => [step, stage]),
			['sft', 'distill', 'dpo', 'reward-model', 'process-reward-model'].flatMap((stage, i) =>
				[1, 2].map((step) => [2 * i + step, stage]),
			),
		);
		const at = (step: number) => metrics[step - 1]?.values ?? {};
		for (const name of ['loss', 'grad_norm', 'learning_rate', 'entropy', 'mean_token_accuracy', 'num_tokens']) {
			assert.equal(typeof at(1)[name], 'number', name);
			assert.equal(typeof at(3)[name], 'number', name);
		}
		for (const name of ['loss', 'rewards/margins', 'rewards/accuracies', 'eval/rewards/accuracies']) {
			assert.equal(typeof at(6)[name], 'number', name);
		}
		for (const name of ['loss', 'accuracy', 'margin', 'eval/accuracy', 'eval/margin']) {
			assert.equal(typeof at(8)[name], 'number', name);
		}
		for (const name of ['loss', 'eval/accuracy', 'eval/loss']) assert.equal(typeof at(10)[name], 'number', name);
		assert.ok((await readEvaluations(run)).some(({ step, problems }) => step === 6 && problems > 0));
		const said = (await readEvents(run)).map((event) => String((event as { message?: unknown }).message ?? ''));
		assert.ok(
			said.some((text) => /50 of 100 completions have a reward of at least 1 and are used for training/.test(text)),
			said.join('\n'),
		);
		const last = (await listCheckpoints(run)).at(-1)?.path as string;
		for (const file of ['config.json', 'model.safetensors', 'tokenizer.json', 'reward-model', 'process-reward-model']) {
			assert.ok(existsSync(join(last, file)), file);
		}
	});

	it('sample while they train, and record which weights sampled', async () => {
		const stage = { type: 'grpo', steps: 4, learning_rate: 1e-3, num_generations: 4, prompts_per_step: 2 };
		const run = await place.prepare({
			...recipe,
			checkpoint: { every: 2 },
			rewards: [{ use: 'accuracy' }, { use: 'format', weight: 0.5 }],
			stages: [{ ...stage, max_staleness: 1, max_completion_length: 12 }],
		});
		const exit = await place.run('--run', await withOneThread(run));
		const record = await readRecord(run);
		assert.equal(exit.code, 0, `${exit.stderr} ${JSON.stringify(record.error)}`);
		// The line for step 0 only evaluates the starting model.
		const metrics = (await readMetrics(run)).filter(({ step }) => step > 0);
		const of = (name: string) => metrics.map(({ values }) => values[name]);
		assert.deepEqual(of('sample/staleness_max'), [0, 1, 1, 1]);
		for (const name of ['reward', 'loss', 'entropy', 'completions/mean_length', 'sampling/mismatch_kl', 'num_tokens']) {
			assert.ok(
				of(name).every((value) => Number.isFinite(value)),
				`${name}: ${of(name)}`,
			);
		}
		assert.ok(of('kl').every((value) => value === undefined));
		for (const [step, version] of [0, 0, 1, 2].entries()) {
			const rollouts = await readRollouts(run, step + 1);
			assert.equal(rollouts.length, 8);
			const versions = new Set(rollouts.flatMap(({ tokens }) => tokens?.version ?? [null]));
			assert.deepEqual(versions, new Set([version]), `step ${step + 1}`);
		}
		assert.ok((await readEvaluations(run)).some(({ step, problems }) => step === 4 && problems > 0));
		const folders = (await listCheckpoints(run)).map(({ path }) => path);
		assert.ok(
			folders.some((path) => existsSync(join(path, 'trainer/ahead.json'))),
			folders.join(),
		);
	});
});
