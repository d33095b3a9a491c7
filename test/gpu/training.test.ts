import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Failure } from '../../src/base/failure.ts';
import { defaultObjective } from '../../src/core/grpo/objective/objective.ts';
import { deviationOf, differs } from '../../src/engines/embedded/compute/firstDifference.ts';
import { createLearner } from '../../src/engines/embedded/createLearner.ts';
import type {
	GrpoRow,
	Learner,
	LearnerState,
	OptimizerSettings,
	SftRow,
	UpdateResult,
	ValueRow,
} from '../../src/engines/embedded/learner.ts';
import { parameterGroups } from '../../src/engines/embedded/model/parameterGroups.ts';
import { parameterCount, specsOf } from '../../src/engines/embedded/model/parameters.ts';
import type { ModelShape } from '../../src/engines/shared/modelShape.ts';
import { skip } from '../support/softwareGpu.ts';

/** Compares training with state that stays on the device with training on the CPU. */

const shape: ModelShape = { vocabulary: 11, context: 24, width: 24, heads: 3, layers: 2, feedForward: 40 };
const count = parameterCount(shape);
const settings: OptimizerSettings = {
	learningRate: 1e-2,
	beta1: 0.9,
	beta2: 0.98,
	// Larger than rounding errors of gradients, which AdamW would otherwise scale up to its learning rate.
	epsilon: 1e-3,
	weightDecay: 0.1,
	maxGradNorm: 0.5,
};

/**
 * More rows than a micro-batch on a device has. They have the same lengths and common prefixes in all steps, because a
 * software GPU takes a long time to compile shaders for new sizes.
 */
function rowsOf(step: number, rows = 70): SftRow[] {
	return Array.from({ length: rows }, (_, r) => {
		const tokens = Array.from(
			{ length: 4 + ((r + step) % 5) },
			(_, t) => (3 * r + 5 * t * t + step) % shape.vocabulary,
		);
		return { tokens, promptLength: 2, weights: new Float32Array(tokens.length - 2).fill(1 / (4 * rows)) };
	});
}

const valueRowsOf = (step: number): ValueRow[] =>
	rowsOf(step, 8).map((row, r) => {
		const labels = new Float32Array(row.tokens.length - row.promptLength + 1).fill(r % 2);
		return { ...row, labels, weights: labels.map(() => 1 / (8 * labels.length)) };
	});

function assertClose(actual: Float32Array, expected: Float32Array, what: string): void {
	const found = deviationOf(expected, actual);
	assert.ok(found.largest > 0, `${what} is zero, so the test would pass without testing anything`);
	assert.ok(!differs(found, 1e-4), `${what}: ${JSON.stringify(found)}`);
}

function assertSameState(actual: LearnerState, expected: LearnerState): void {
	assert.equal(actual.updates, expected.updates);
	for (const name of ['parameters', 'firstMoments', 'secondMoments'] as const) {
		assertClose(actual[name], expected[name], name);
	}
}

/** Number of compared steps of each kind; `npm run acceptance -- gpu` compares more. */
const steps = Number(process.env.GPU_STEPS ?? 4);
const slow = { ...settings, learningRate: 1e-3 };

/** Within a thousandth. */
function assertSameMetrics(actual: UpdateResult, expected: UpdateResult, what: string): void {
	const metrics = ({ loss, gradNorm, logprobs, entropies }: UpdateResult) => {
		const [logprob, entropy] = [logprobs, entropies].map((rows) => {
			const all = rows.flatMap((row) => [...row]);
			return all.reduce((sum, x) => sum + x, 0) / all.length;
		});
		return { loss, gradNorm, logprob, entropy };
	};
	const found = metrics(actual);
	for (const [name, value] of Object.entries(metrics(expected))) {
		const other = found[name as keyof typeof found] as number;
		assert.ok(
			Math.abs(other - (value as number)) <= 1e-3 * Math.abs(value as number),
			`${what} ${name}: ${value}, ${other}`,
		);
	}
}

describe('training on WebGPU', { skip }, async () => {
	const learners: Learner[] = [];
	const learner = async (device: 'cpu' | 'webgpu'): Promise<Learner> => {
		const made = await createLearner({ shape, device, seed: 1, workers: 1, sampleRows: 8, trainRows: 64 });
		learners.push(made);
		return made;
	};
	after(() => Promise.all(learners.map((made) => made.dispose())));
	const [cpu, gpu] = [await learner('cpu'), await learner('webgpu')];

	test('weights, moments, losses and norms match the CPU, for the policy and for a head', async () => {
		const states: LearnerState[] = [];
		const results: { loss: number; gradNorm: number }[][] = [];
		for (const one of [cpu, gpu]) {
			const updates = [];
			for (let step = 0; step < 3; step++) updates.push(await one.updateSft(rowsOf(step), settings));
			updates.push(await one.updateSft([], settings));
			await one.addHead('value');
			for (let step = 0; step < 2; step++) updates.push(await one.updateHead('value', valueRowsOf(step), settings));
			results.push(updates);
			states.push(await one.state(), await one.headState('value'));
		}
		const [expected, actual] = results as [(typeof results)[0], (typeof results)[0]];
		for (const name of ['loss', 'gradNorm'] as const) {
			assertClose(
				Float32Array.from(actual, (result) => result[name]),
				Float32Array.from(expected, (result) => result[name]),
				name,
			);
		}
		const [cpuPolicy, cpuHead, gpuPolicy, gpuHead] = states as [LearnerState, LearnerState, LearnerState, LearnerState];
		assertSameState(gpuPolicy, cpuPolicy);
		assertSameState(gpuHead, cpuHead);
	});

	test(`${steps} steps of SFT and of GRPO have the same metrics as on the CPU if they train on the same tokens`, async () => {
		for (const one of [cpu, gpu]) await one.resetOptimizer();
		for (let step = 0; step < steps; step++) {
			const rows = rowsOf(step, 8);
			assertSameMetrics(await gpu.updateSft(rows, slow), await cpu.updateSft(rows, slow), `sft ${step}`);
		}
		for (const one of [cpu, gpu]) await one.setReference();
		for (let step = 0; step < steps; step++) {
			const sequences = rowsOf(step, 8);
			const old = await cpu.logprobs(sequences, 'policy', 1);
			const update = async (one: Learner) => {
				const reference = await one.logprobs(sequences, 'reference', 1);
				const rows = sequences.map(
					(sequence, i): GrpoRow => ({
						...sequence,
						advantage: i % 3 === 0 ? 1.2 : -0.2,
						oldLogprobs: old[i] as Float32Array,
						refLogprobs: reference[i] as Float32Array,
					}),
				);
				return one.updateGrpo(rows, { ...defaultObjective, epsilonHigh: 0.28, beta: 0.04, temperature: 1 }, slow);
			};
			assertSameMetrics(await update(gpu), await update(cpu), `grpo ${step}`);
		}
	});

	test('an update transfers no weights, gradients or moments to or from the device', async () => {
		const rows = rowsOf(1, 8);
		await gpu.updateSft(rows, settings);
		await gpu.setReference();
		gpu.takeTraffic();
		const { logprobs } = await gpu.updateSft(rows, settings);
		const update = gpu.takeTraffic();
		// Log-probabilities and entropies, the loss and the norm.
		const kept = Math.max(...logprobs.map(({ length }) => length));
		assert.equal(update?.bytesDown, 8 * rows.length * kept + 8);
		assert.ok((update?.bytesUp as number) < count, `${update?.bytesUp} bytes up for ${count} parameters`);
		await gpu.setReference();
		assert.deepEqual(gpu.takeTraffic(), { bytesUp: 0, bytesDown: 0, dispatches: 0 });
		await gpu.state();
		const padded = parameterGroups(specsOf('policy', shape)).reduce((sum, { size }) => sum + size, 0);
		assert.equal(gpu.takeTraffic()?.bytesDown, 4 * (count + 2 * padded));
	});

	test('the reference keeps its weights when the policy changes', async () => {
		const rows = rowsOf(2, 8);
		await gpu.setReference();
		const before = (await gpu.state()).parameters;
		const expected = await gpu.logprobs(rows, 'policy', 1);
		await gpu.updateSft(rows, settings);
		assert.deepEqual(await gpu.logprobs(rows, 'reference', 1), expected);
		assert.notDeepEqual(await gpu.logprobs(rows, 'policy', 1), expected);
		assert.deepEqual(await gpu.referenceParameters(), before);
	});

	test('a restored state continues bit for bit', async () => {
		await gpu.setReference();
		const [state, reference] = [await gpu.state(), (await gpu.referenceParameters()) as Float32Array];
		const proceed = async (one: Learner) => {
			const updates = [await one.updateSft(rowsOf(5, 8), settings), await one.updateSft(rowsOf(6, 8), settings)];
			return { updates, state: await one.state(), reference: await one.logprobs(rowsOf(5, 8), 'reference', 1) };
		};
		const expected = await proceed(gpu);
		await gpu.restoreReference(reference);
		await gpu.restore(state);
		assert.deepEqual(await proceed(gpu), expected);
	});

	test('a non-finite gradient changes nothing', async () => {
		const before = await gpu.state();
		const bad = rowsOf(0, 8).map((row) => ({ ...row, weights: row.weights.map(() => Number.NaN) }));
		await assert.rejects(
			gpu.updateSft(bad, settings),
			(error) => error instanceof Failure && error.reason === 'invalid',
		);
		assert.deepEqual(await gpu.state(), before);
		await gpu.resetOptimizer();
		const { firstMoments, updates } = await gpu.state();
		assert.ok(updates === 0 && firstMoments.every((moment) => moment === 0));
	});
});
