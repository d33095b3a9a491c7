import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { Executor } from '../../../../../src/engines/embedded/compute/executor.ts';
import type { SampleJob } from '../../../../../src/engines/embedded/compute/jobs.ts';
import { LoopSampler } from '../../../../../src/engines/embedded/compute/loopSampler.ts';
import { ParameterStore } from '../../../../../src/engines/embedded/compute/parameterStore.ts';
import { ProgramFeeds } from '../../../../../src/engines/embedded/compute/programFeeds.ts';
import { Session, Tensors } from '../../../../../src/engines/embedded/compute/runtime.ts';
import { loopProgram } from '../../../../../src/engines/embedded/model/loopProgram.ts';
import { initialParameters } from '../../../../../src/engines/embedded/model/parameters.ts';
import { cpuDialect, cudaDialect, type Dialect } from '../../../../../src/engines/embedded/onnx/dialect.ts';

/** Compares sampling with a loop inside the program to the sampler that runs one program per token. */

const shape = { vocabulary: 13, context: 80, width: 24, heads: 3, layers: 2, feedForward: 40 };

function jobOf(seed: number, changes: Partial<SampleJob> = {}): SampleJob {
	const random = Random.of('loop', seed);
	const parameters = initialParameters(shape, seed).map((x) => x + 0.2 * random.normal());
	const buffer = new SharedArrayBuffer(parameters.byteLength);
	new Float32Array(buffer).set(parameters);
	const prompts = Array.from({ length: 3 }, () =>
		Int32Array.from({ length: 1 + random.int(12) }, () => random.int(shape.vocabulary)),
	);
	const promptOf = Int32Array.from({ length: 7 }, () => random.int(prompts.length));
	return {
		kind: 'sample',
		weights: { slot: 'policy', version: seed, buffer },
		prompts,
		promptOf,
		seeds: Array.from(promptOf, (_, row) => `row ${row}`),
		// Some rows can exceed the context.
		maxNewTokens: Int32Array.from(promptOf, () => 1 + random.int(100)),
		temperature: 0.9,
		topP: 1,
		stop: [2, 5],
		alternatives: null,
		...changes,
	};
}

describe('sampling with a loop inside the program', async () => {
	const tensors = await Tensors.load();
	const executor = new Executor(shape, 'cpu', tensors);
	const sessions = new Map<string, Session>();
	after(async () => {
		await executor.release();
		for (const session of sessions.values()) await session.release();
	});
	/** The CPU provider also has the operators that programs for CUDA use. */
	const check = async (job: SampleJob) => {
		await checkWith(job, cpuDialect);
		return checkWith(job, cudaDialect);
	};
	const checkWith = async (job: SampleJob, dialect: Dialect) => {
		const choice = job.temperature === 0 ? 'greedy' : 'random';
		const key = `${choice} ${dialect.fusedDecode}`;
		let session = sessions.get(key);
		if (session === undefined) {
			session = await Session.create(loopProgram(shape, dialect, choice).encode(), { provider: 'cpu', threads: 1 });
			sessions.set(key, session);
		}
		const sampler = new LoopSampler(shape, tensors, new ProgramFeeds(shape, tensors, dialect), session);
		const actual = await sampler.run(job, await new ParameterStore(shape, tensors).feeds(job.weights));
		const expected = await executor.sample(job);
		assert.deepEqual(actual.tokens, expected.tokens);
		assert.deepEqual([actual.lengths, actual.truncated], [expected.lengths, expected.truncated]);
		for (const name of ['logprobs', 'entropies'] as const) {
			for (const [i, value] of expected[name].entries()) {
				assert.ok(Math.abs(value - (actual[name][i] as number)) < 1e-5, `${name} ${i}`);
			}
		}
		return expected;
	};

	test('chooses the same tokens as the sampler that runs one program per token', async () => {
		for (let seed = 1; seed <= 20; seed++) await check(jobOf(seed));
	});

	test('handles greedy sampling, no stop tokens, and a single token', async () => {
		await check(jobOf(21, { temperature: 0 }));
		const whole = await check(jobOf(22, { stop: [] }));
		assert.ok(whole.truncated.every((truncated) => truncated === 1));
		const one = await check(jobOf(23, { maxNewTokens: new Int32Array(7).fill(1) }));
		assert.deepEqual([...one.lengths], new Array(7).fill(1));
	});

	test('ends once all rows have ended', async () => {
		// Every token is a stop token.
		const all = Array.from({ length: shape.vocabulary }, (_, token) => token);
		assert.deepEqual([...(await check(jobOf(24, { stop: all }))).lengths], new Array(7).fill(1));
	});
});
