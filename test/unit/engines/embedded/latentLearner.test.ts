import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { createLearner } from '../../../../src/engines/embedded/createLearner.ts';
import type { Learner, SftRow } from '../../../../src/engines/embedded/learner.ts';
import { initialParameters } from '../../../../src/engines/embedded/model/parameters.ts';
import { adam, distance } from './computeHarness.ts';
import { latentShape, placesOf, referenceLogprobs, referenceReadings, withPlaces } from './latentReference.ts';

const random = Random.of('latent learner');
const flat = Array.from(initialParameters(latentShape, 3), (x) => Math.fround(x + 0.3 * random.normal()));
const common = { shape: latentShape, device: 'cpu', sampleRows: 3, trainRows: 3 } as const;
const learners: Learner[] = [];
after(() => Promise.all(learners.map((learner) => learner.dispose())));

async function learnerWith(workers: number): Promise<Learner> {
	const learner = await createLearner({ ...common, parameters: Float32Array.from(flat), workers });
	learners.push(learner);
	return learner;
}

const prompts = (thoughts: number) =>
	withPlaces(thoughts).map(({ tokens, promptLength }) => tokens.slice(0, promptLength));

test('samples after latent thoughts match the log-probabilities and thought readings of the reference', async () => {
	const learner = await learnerWith(2);
	for (const thoughts of [0, 2]) {
		// One prompt occurs twice, and some prompts include the start of a completion.
		const begun = prompts(thoughts).map((prompt, i) => [...prompt, ...[3, 6, 2].slice(i)]);
		const all = [...prompts(thoughts), prompts(thoughts)[0] as number[], ...begun];
		const request = { prompts: all, maxNewTokens: 4, temperature: 1, thoughts: placesOf(thoughts) };
		const samples = await learner.sample({ ...request, seeds: all.map((_, i) => `${i}`) });
		for (const [i, sample] of samples.entries()) {
			assert.deepEqual(sample.tokens.slice(0, sample.promptLength), all[i]);
			assert.ok(sample.logprobs.length > 0);
			assert.ok(distance(sample.logprobs, referenceLogprobs(flat, sample, thoughts)) < 1e-4, `row ${i}`);
			const reading = sample.thoughts ?? assert.fail();
			assert.equal(reading.count, thoughts);
			for (const [t, logprobs] of referenceReadings(flat, sample, thoughts).entries()) {
				const order = [...logprobs.keys()]
					.sort((a, b) => (logprobs[b] as number) - (logprobs[a] as number))
					.slice(0, 5);
				assert.deepEqual([...reading.tokens.subarray(5 * t, 5 * t + 5)], order);
				assert.ok(
					distance(
						reading.logprobs.subarray(5 * t, 5 * t + 5),
						order.map((token) => logprobs[token] as number),
					) < 1e-4,
				);
			}
		}
		const alone = await learner.sample({ ...request, prompts: all.slice(2, 3), seeds: ['2'] });
		assert.deepEqual(alone[0]?.tokens, samples[2]?.tokens, 'a sample does not depend on other rows');
	}
	const plain = await learner.sample({
		prompts: prompts(0),
		seeds: ['a', 'b', 'c', 'd'],
		maxNewTokens: 3,
		temperature: 1,
	});
	assert.ok(plain.every((sample) => sample.thoughts === undefined));
	for (const sample of plain) assert.ok(distance(sample.logprobs, referenceLogprobs(flat, sample, 0)) < 1e-4);
});

test('updates with latent thoughts do not depend on the number of workers, and lower the loss', async () => {
	const rows = withPlaces(3).map((row): SftRow => {
		const length = row.tokens.length - row.promptLength;
		return { ...row, weights: new Float32Array(length).fill(0.1) };
	});
	const outcomes = await Promise.all(
		[1, 2].map(async (workers) => {
			const learner = await learnerWith(workers);
			const losses: number[] = [];
			for (let i = 0; i < 5; i++) {
				const result = await learner.updateLatent(rows, placesOf(3), adam);
				losses.push(result.loss);
				if (i > 0) continue;
				for (const [r, row] of rows.entries()) {
					assert.ok(distance(result.logprobs[r] ?? [], referenceLogprobs(flat, row, 3)) < 1e-4);
					assert.equal(result.entropies[r]?.length, row.weights.length);
				}
			}
			return { losses, parameters: await learner.policyParameters() };
		}),
	);
	assert.deepEqual(outcomes[0], outcomes[1]);
	const { losses } = outcomes[0] ?? assert.fail();
	assert.ok((losses[4] as number) < (losses[0] as number));
});

test('a prompt without text before its thoughts, or beyond the context, is rejected', async () => {
	const learner = await learnerWith(1);
	const row: SftRow = { tokens: [7, 8, 9, 2], promptLength: 3, weights: Float32Array.of(1) };
	await assert.rejects(
		learner.updateLatent([row], placesOf(1), adam),
		/no text before its slots for 1 latent thoughts/,
	);
	const long = { ...row, tokens: new Array<number>(20).fill(1), promptLength: 19 };
	await assert.rejects(learner.updateLatent([long], placesOf(1), adam), /exceeds the model's context of 16/);
	// The learner remains usable.
	await learner.updateLatent([{ ...row, tokens: [1, 7, 8, 9, 2], promptLength: 4 }], placesOf(1), adam);
});
