/**
 * Checks of the embedded engine on a software GPU that take too long for `npm test`: more random programs and training
 * steps, the bytes of a step at real sizes, and a run that learns.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Random } from '../../src/base/random.ts';
import { defaultObjective } from '../../src/core/grpo/objective/objective.ts';
import { createLearner } from '../../src/engines/embedded/createLearner.ts';
import type { OptimizerSettings } from '../../src/engines/embedded/learner.ts';
import { parameterCount } from '../../src/engines/embedded/model/parameters.ts';
import { listCheckpoints, readEvents, readMetrics, readRecord } from '../../src/runs/runReader.ts';
import { describePrograms } from '../gpu/checkPrograms.ts';
import { root } from '../scripts/paths.ts';
import { buildFaultyDriver } from '../support/faultyDriver.ts';
import { hardware, skip } from '../support/softwareGpu.ts';
import { shortRecipe, tinyRecipe, Workplace } from '../unit/engines/embedded/engineProcess.ts';
import { uninterrupted } from '../unit/engines/embedded/killResume.ts';
import { lab } from './commandLine.ts';

describePrograms([2, 3]);

process.env.GPU_STEPS = '10';
await import('../gpu/training.test.ts');

/** Sizes of the demo's grpo stage, from its recipe. */
function demoSizes() {
	const text = readFileSync(join(root, 'media/templates/demo/addition.recipe.json'), 'utf8');
	const size = (key: string) => Number(new RegExp(`"${key}": (\\d+)`).exec(text)?.[1]);
	return {
		prompts: size('prompts_per_step'),
		generations: size('num_generations'),
		tokens: size('max_completion_length'),
	};
}

const optimizer: OptimizerSettings = {
	learningRate: 1e-4,
	beta1: 0.9,
	beta2: 0.95,
	epsilon: 1e-8,
	weightDecay: 0.1,
	maxGradNorm: 1,
};

describe('bytes transferred by a GRPO step at the sizes of the demo', { skip }, () => {
	const sizes = demoSizes();
	/** The demo's 0.8 million parameters, and 6 million. */
	const models = [
		{ layers: 4, width: 128, heads: 4 },
		{ layers: 8, width: 256, heads: 8 },
	];
	for (const model of models) {
		const shape = { vocabulary: 24, context: 64, feedForward: 4 * model.width, ...model };
		for (const beta of [0, 0.02]) {
			test(`${parameterCount(shape)} parameters, beta ${beta}: at most 16 bytes per token and 1 MB`, async () => {
				const learner = await createLearner({
					shape,
					device: 'webgpu',
					seed: 1,
					workers: 1,
					sampleRows: 16,
					trainRows: 8,
				});
				try {
					await learner.setReference();
					learner.takeTraffic();
					const random = Random.of('demo prompts');
					const prompts = Array.from({ length: sizes.prompts }, () =>
						Array.from({ length: 9 }, () => 3 + random.int(20)),
					).flatMap((prompt) => new Array<number[]>(sizes.generations).fill(prompt));
					const samples = await learner.sample({
						prompts,
						seeds: prompts.map((_, i) => `${i}`),
						maxNewTokens: sizes.tokens,
						temperature: 1,
					});
					const sampling = learner.takeTraffic();
					const reference = beta > 0 ? await learner.logprobs(samples, 'reference', 1) : null;
					const tokens = samples.reduce((sum, { logprobs }) => sum + logprobs.length, 0);
					const rows = samples.map((sample, i) => ({
						...sample,
						weights: sample.logprobs.map(() => 1 / tokens),
						advantage: i % 2 === 0 ? 1 : -1,
						oldLogprobs: null,
						refLogprobs: reference?.[i] ?? null,
					}));
					const settings = { ...defaultObjective, epsilonHigh: 0.28, beta, temperature: 1 };
					await learner.updateGrpo(rows, settings, optimizer);
					const update = learner.takeTraffic();
					const all = [sampling, update].flatMap((traffic) => [traffic?.bytesUp ?? 0, traffic?.bytesDown ?? 0]);
					const bytes = all.reduce((sum, x) => sum + x, 0);
					console.error(JSON.stringify({ parameters: parameterCount(shape), beta, tokens, sampling, update, bytes }));
					assert.ok(bytes > 0 && bytes <= 16 * 2 * tokens + 2 ** 20, `${bytes} bytes for ${tokens} tokens`);
				} finally {
					await learner.dispose();
				}
			});
		}
	}
});

const softwareOnly = hardware ? 'requires a software GPU' : skip;

test('auto does not choose a software GPU, because it measures that the CPU is faster', {
	skip: softwareOnly,
}, async () => {
	await using place = await Workplace.make();
	const { run } = await uninterrupted(place, { ...shortRecipe, device: 'auto' });
	const event = (await readEvents(run)).find(({ type }) => type === 'device');
	assert.equal(event?.took, 'cpu');
	const tried = event?.tried as { provider: string; error: string }[];
	const reason = tried.find(({ provider }) => provider === 'webgpu')?.error ?? '';
	assert.match(reason, /^(the CPU is faster|it is too slow) for this model \(.*sampling \d+ ms and update \d+ ms/);
	assert.ok(Array.isArray(event?.measured) && event.measured.length > 0);
});

test('every program works with as few bindings per shader as WebGPU guarantees', {
	skip: softwareOnly,
}, async (context) => {
	await using place = await Workplace.make();
	const driver = await buildFaultyDriver(place.folder);
	if (driver === null) return context.skip('requires a C compiler');
	const files = ['programs', 'kernels'].map((name) => join(root, `test/gpu/${name}.test.ts`));
	// If it inherited NODE_TEST_CONTEXT, the child would print the test runner's protocol.
	const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
	const child = spawn(process.execPath, ['--test', '--test-reporter', 'spec', ...files], {
		env: { ...environment, ...driver, FAULTY_DRIVER_BINDINGS: '8' },
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	let text = '';
	child.stdout.setEncoding('utf8').on('data', (part: string) => {
		text += part;
	});
	const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
	assert.equal(code, 0, text.slice(-4000));
	assert.match(text, /ℹ pass [3-9]\d\n[\s\S]*ℹ skipped 0\n/);
});

test('a run that runs out of WebGPU memory ends with an error that says what to do, and resumes with fewer rows', {
	skip: softwareOnly,
}, async (context) => {
	await using place = await Workplace.make();
	const driver = await buildFaultyDriver(place.folder);
	if (driver === null) return context.skip('requires a C compiler');
	Object.assign(place.environment, driver, { FAULTY_DRIVER_BYTES: '50000000' });
	const corpus = join(place.folder, 'digits.txt');
	const line = '0123456789'.repeat(51).slice(0, 500);
	await writeFile(corpus, Array.from({ length: 40 }, (_, i) => `${i % 10}${line}`).join('\n'));
	const run = await place.prepare({
		...shortRecipe,
		device: 'webgpu',
		model: { layers: 1, width: 32, heads: 4, feedForward: 64, context: 512 },
		stages: [
			{ type: 'sft', steps: 2, learning_rate: 1e-3, batch_size: 8 },
			{ type: 'pretrain', steps: 2, learning_rate: 1e-3, batch_size: 8, workedShare: 0, corpus: { path: corpus } },
		],
		evaluate: { every: 1_000_000, problems: 4 },
		checkpoint: { every: 1, keep: 10 },
	});
	const first = await place.start('--run', run).exit;
	assert.equal(first.code, 2, first.stderr);
	assert.match(
		first.stderr,
		/^Device webgpu is out of memory, with micro-batches of 8 rows of up to 50\d tokens\. Resume the run to continue from its last checkpoint with at most 4 rows\./,
	);
	assert.deepEqual((await readRecord(run)).error?.reason, 'full');
	const checkpoints = (await listCheckpoints(run)).map(({ step }) => step);
	assert.deepEqual(checkpoints, [1, 2]);
	let code: number | null = 2;
	for (let attempt = 0; attempt < 3 && code === 2; attempt++) {
		({ code } = await place.start('--run', run, '--resume').exit);
	}
	assert.equal(code, 0);
	const alerts = (await readEvents(run)).filter(({ type, use }) => type === 'alert' && use === 'train');
	const rows = alerts.map((alert) => alert.rows);
	assert.deepEqual(rows, [4, 2, 1].slice(0, rows.length));
	assert.ok(rows.length > 0);
	assert.deepEqual(
		(await readMetrics(run)).map(({ step }) => step),
		[1, 2, 3, 4],
	);
});

test('a run on the GPU learns: held-out accuracy rises significantly within ten minutes', { skip }, async () => {
	await using place = await Workplace.make();
	const path = join(place.folder, 'learn.recipe.json');
	const recipe = {
		...tinyRecipe,
		// Held-out sums of single digits are too few for a significant difference.
		dataset: { task: 'addition', digits: 2 },
		model: { layers: 1, width: 32, heads: 4 },
		stages: [
			{ type: 'sft', steps: 200, learning_rate: 1e-2, batch_size: 64 },
			{ type: 'grpo', steps: 20, num_generations: 8, prompts_per_step: 8, learning_rate: 1e-3 },
		],
		evaluate: { every: 50, problems: 96 },
		checkpoint: { every: 100 },
	};
	await writeFile(path, JSON.stringify(recipe));
	const output = await lab(place.folder, place.folder, 'run', path, '--summary', '--set', 'device=webgpu');
	const { run } = JSON.parse(output.trim().split('\n').at(-1) ?? '');
	const { device, created } = await readRecord(run);
	assert.match(device ?? '', /^webgpu on /);
	const accuracies = (await readMetrics(run)).flatMap(({ step, time, values }) => {
		const [accuracy, low, high] = ['', '_low', '_high'].map((bound) => values[`eval/heldout/accuracy${bound}`]);
		if (typeof accuracy !== 'number') return [];
		return [{ step, seconds: time - created, accuracy, low: Number(low), high: Number(high) }];
	});
	console.error(JSON.stringify(accuracies));
	const first = accuracies[0];
	const risen = accuracies.find(({ low }) => low > (first?.high ?? 1));
	assert.ok(risen !== undefined && risen.seconds < 600, JSON.stringify([first, risen]));
	const last = accuracies.at(-1);
	assert.ok(last !== undefined && last.low > 0.5, JSON.stringify(last));
});
