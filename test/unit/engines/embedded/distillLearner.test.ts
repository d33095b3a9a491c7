import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure } from '../../../../src/base/failure.ts';
import { createLearner } from '../../../../src/engines/embedded/createLearner.ts';
import { initialParameters, parameterCount } from '../../../../src/engines/embedded/model/parameters.ts';
import type { ModelShape } from '../../../../src/engines/shared/modelShape.ts';
import { adam, tinyShape } from './computeHarness.ts';

const common = { shape: tinyShape, device: 'cpu', sampleRows: 5, trainRows: 3, seed: 1 } as const;
const larger: ModelShape = { ...tinyShape, width: 16, heads: 4, layers: 1, context: 20, feedForward: 24 };

/** Parameters of a confident teacher, whose output head is scaled up. */
function sure(shape: ModelShape, seed: number): Float32Array {
	return initialParameters(shape, seed).map((value, i, all) =>
		i >= all.length - shape.width * shape.vocabulary ? 60 * value : value,
	);
}

const prompts = [
	[1, 3],
	[1, 3],
	[1, 4, 5],
	[1, 6],
	[1, 5, 5, 3],
];
const request = { prompts, seeds: prompts.map((_, i) => `${i}`), maxNewTokens: 6, temperature: 1 };

test('a student of a different size learns to match its teacher, bit-identically with any number of workers', async () => {
	const outcomes: unknown[] = [];
	for (const workers of [1, 2]) {
		await using learner = Object.assign(await createLearner({ ...common, workers }), {
			[Symbol.asyncDispose](this: { dispose(): Promise<void> }) {
				return this.dispose();
			},
		});
		await assert.rejects(learner.sample({ ...request, of: 'teacher' }), (error: Failure) => error.reason === 'missing');
		assert.throws(
			() => learner.setTeacher({ ...larger, vocabulary: 9 }, new Float32Array(1)),
			/is not compatible with this model/,
		);
		// Set another teacher first to check that its weights are replaced.
		learner.setTeacher(tinyShape, sure(tinyShape, 5));
		const other = await learner.sample({ ...request, of: 'teacher' });
		learner.setTeacher(larger, sure(larger, 2));
		const samples = await learner.sample({ ...request, of: 'teacher' });
		assert.notDeepEqual(samples, other);
		assert.equal(parameterCount(larger) > parameterCount(tinyShape), true);
		const targets = samples.reduce((n, { tokens, promptLength }) => n + tokens.length - promptLength, 0);
		const rows = samples.map((sample) => ({ ...sample, weights: sample.logprobs.map(() => 1 / targets) }));
		const results = [];
		for (let update = 0; update < 40; update++) {
			results.push(await learner.updateDistill(rows, { alpha: 0.2, temperature: 2 }, { ...adam, weightDecay: 0 }));
		}
		const divergences = results.map(({ divergence }) => divergence);
		assert.ok(divergences.every((divergence) => divergence > 0));
		assert.ok((divergences.at(-1) as number) < 0.3 * (divergences[0] as number), divergences.join(' '));
		for (const { loss, divergence, logprobs } of results.slice(0, 2)) {
			const surprise = -logprobs.flatMap((row) => [...row]).reduce((sum, logprob) => sum + logprob, 0) / targets;
			assert.ok(Math.abs(loss - (0.8 * 4 * divergence + 0.2 * surprise)) < 1e-5);
		}
		outcomes.push({ samples, results, state: await learner.state() });
		// A teacher with the student's own weights gives no gradient.
		learner.setTeacher(tinyShape, (await learner.state()).parameters);
		const same = await learner.updateDistill(rows, { alpha: 0, temperature: 1 }, adam);
		assert.ok(Math.abs(same.divergence) < 1e-6 && same.gradNorm < 1e-5, `${same.divergence} ${same.gradNorm}`);
	}
	assert.deepEqual(outcomes[1], outcomes[0]);
});
