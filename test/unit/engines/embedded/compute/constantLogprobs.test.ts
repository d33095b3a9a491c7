import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import { areConstant, ConstantLogprobs } from '../../../../../src/engines/embedded/compute/constantLogprobs.ts';
import type { LogprobsJob } from '../../../../../src/engines/embedded/compute/jobs.ts';
import { pack } from '../../../../../src/engines/embedded/compute/packing.ts';
import { parameterViews } from '../../../../../src/engines/embedded/compute/parameterStore.ts';
import { ProgramFeeds } from '../../../../../src/engines/embedded/compute/programFeeds.ts';
import { Session, Tensors, Traffic } from '../../../../../src/engines/embedded/compute/runtime.ts';
import { SharedWeights } from '../../../../../src/engines/embedded/compute/sharedWeights.ts';
import { initialParameters, parameterSpecs } from '../../../../../src/engines/embedded/model/parameters.ts';
import { logprobsProgram } from '../../../../../src/engines/embedded/model/programs.ts';
import { cudaDialect } from '../../../../../src/engines/embedded/onnx/dialect.ts';
import { sharingRows, tinyShape } from '../computeHarness.ts';

/** The CPU provider also has the operators that programs for CUDA use. */
const options = { provider: 'cpu', threads: 1 };
const scaled = (seed: number) => initialParameters(tinyShape, seed).map((x) => 20 * x);

test('a reference model stored as constants has the same log-probabilities and is uploaded once', async () => {
	const tensors = await Tensors.load();
	const feeds = new ProgramFeeds(tinyShape, tensors, cudaDialect);
	const job = { batch: pack(sharingRows), temperature: 0.9 } as LogprobsJob;
	const plain = await Session.create(logprobsProgram(tinyShape, cudaDialect).encode(), options);
	const traffic = new Traffic();
	const created: Session[] = [];
	const reference = new ConstantLogprobs(
		tinyShape,
		cudaDialect,
		async (graph) => {
			const session = await Session.create(graph.encode(), { ...options, traffic });
			created.push(session);
			return session;
		},
		traffic,
	);
	const batchBytes = Object.values(feeds.logprobs(job))
		.filter(({ type }) => type !== 'int64')
		.reduce((sum, tensor) => sum + (tensor.data as Float32Array).byteLength, 0);
	for (const seed of [1, 2]) {
		const weights = new SharedWeights('reference', scaled(seed));
		const inputs = parameterViews(parameterSpecs(tinyShape), scaled(seed), tensors);
		const expected = (await plain.run({ ...inputs, ...feeds.logprobs(job) })).logprobs?.data as Float32Array;
		for (const bytes of [weights.flat.byteLength + batchBytes, batchBytes]) {
			const session = await reference.session(weights.ref);
			const actual = (await session.run(feeds.logprobs(job))).logprobs?.data as Float32Array;
			assert.equal(traffic.take().bytesUp, bytes);
			const largest = Math.max(...expected.map(Math.abs));
			assert.ok(largest > 1, 'the weights make no difference');
			for (const [i, value] of expected.entries()) {
				assert.ok(Math.abs(value - (actual[i] as number)) <= 1e-6 * largest, `${value}, ${actual[i]}`);
			}
		}
	}
	assert.equal(created.length, 2);
	await assert.rejects((created[0] as Session).run(feeds.logprobs(job)), 'the earlier reference was released');
	await reference.release();
});

test('a reference model that did not fit is tried again', async () => {
	const answers = [new Failure('full', 'Device cuda is out of memory.'), {} as Session];
	const create = async () => {
		const answer = answers.shift();
		if (answer instanceof Failure) throw answer;
		return answer as Session;
	};
	const traffic = new Traffic();
	const reference = new ConstantLogprobs(tinyShape, cudaDialect, create, traffic);
	const { ref } = new SharedWeights('reference', scaled(1));
	await assert.rejects(reference.session(ref), { reason: 'full' });
	assert.equal(traffic.take().bytesUp, 0);
	await reference.session(ref);
	assert.equal(answers.length, 0);
});

test('a reference model is stored as constants only on CUDA, and only if it fits into a file', () => {
	const { ref } = new SharedWeights('reference', new Float32Array(1));
	assert.ok(areConstant('cuda', tinyShape, ref));
	for (const provider of ['cpu', 'webgpu', 'directml', 'coreml'] as const) {
		assert.ok(!areConstant(provider, tinyShape, ref), provider);
	}
	assert.ok(!areConstant('cuda', tinyShape, new SharedWeights('policy', new Float32Array(1)).ref));
	assert.ok(!areConstant('cuda', tinyShape, { ...ref, buffer: null }));
	assert.ok(!areConstant('cuda', { ...tinyShape, width: 8192, feedForward: 8192, layers: 4 }, ref));
});
