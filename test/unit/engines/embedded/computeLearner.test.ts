import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { Random } from '../../../../src/base/random.ts';
import { defaultObjective } from '../../../../src/core/grpo/objective/objective.ts';
import { createLearner } from '../../../../src/engines/embedded/createLearner.ts';
import type {
	GrpoRow,
	GrpoSettings,
	Learner,
	Sample,
	SampleRequest,
	UpdateResult,
} from '../../../../src/engines/embedded/learner.ts';
import { initialParameters } from '../../../../src/engines/embedded/model/parameters.ts';
import { adam, distance, tinyShape } from './computeHarness.ts';

const settings: GrpoSettings = { ...defaultObjective, epsilonHigh: 0.28, beta: 0.05, temperature: 0.9 };
const common = { shape: tinyShape, device: 'cpu', sampleRows: 5, trainRows: 3 } as const;
const learners = new Map<number, Learner>();

/** Returns a learner reset to its initial weights. Tests share one learner per worker count. */
async function learner(workers: number): Promise<Learner> {
	let shared = learners.get(workers);
	if (shared === undefined) {
		shared = await createLearner({ ...common, seed: 1, workers });
		learners.set(workers, shared);
	}
	const parameters = initialParameters(tinyShape, 1);
	const zeros = new Float32Array(parameters.length);
	await shared.restore({ parameters, firstMoments: zeros, secondMoments: zeros, updates: 0 });
	return shared;
}

after(() => Promise.all([...learners.values()].map((shared) => shared.dispose())));

/** Builds a request that repeats prompts of different lengths and is not aligned with the micro-batches. */
function request(step: number, overrides: Partial<SampleRequest> = {}): SampleRequest {
	const random = Random.of('prompts', step);
	const distinct = Array.from({ length: 4 }, (_, i) => [1, ...Array.from({ length: 1 + i }, () => 3 + random.int(4))]);
	const prompts = distinct.flatMap((prompt) => [prompt, prompt, prompt]);
	return { prompts, seeds: prompts.map((_, i) => `${step}/${i}`), maxNewTokens: 6, temperature: 0.9, ...overrides };
}

function grpoRows(samples: readonly Sample[], old: boolean, reference: readonly Float32Array[]): GrpoRow[] {
	const tokens = samples.reduce((n, sample) => n + sample.logprobs.length, 0);
	return samples.map((sample, i) => ({
		tokens: sample.tokens,
		promptLength: sample.promptLength,
		weights: sample.logprobs.map(() => 1 / tokens),
		advantage: Math.sin(i + 1),
		oldLogprobs: old ? sample.logprobs : null,
		refLogprobs: reference[i] ?? null,
	}));
}

/** Runs two generation batches with two updates each and returns all results. */
async function train(policy: Learner, from = 0, to = 2): Promise<unknown[]> {
	const outcome: unknown[] = [];
	for (let step = from; step < to; step++) {
		const samples = await policy.sample(request(step));
		const reference = await policy.logprobs(samples, 'reference', settings.temperature);
		const updates: UpdateResult[] = [];
		for (const old of [false, true]) {
			updates.push(await policy.updateGrpo(grpoRows(samples, old, reference), settings, adam));
		}
		outcome.push({ samples, reference, updates });
	}
	return outcome;
}

test('samples, updates and weights are bit-identical with 1, 2 and 3 workers', async () => {
	const results: unknown[] = [];
	for (const workers of [1, 2, 3]) {
		const policy = await learner(workers);
		assert.equal(policy.execution.workers, workers);
		await policy.setReference();
		results.push({ outcome: await train(policy), state: await policy.state() });
	}
	assert.deepEqual(results[1], results[0]);
	assert.deepEqual(results[2], results[0]);
});

test('restored state continues bit-identically', async () => {
	const one = await learner(2);
	await one.setReference();
	await train(one, 0, 1);
	const state = await one.state();
	const reference = (await one.referenceParameters()) as Float32Array;
	const expected = await train(one, 1, 3);
	const other = await createLearner({ ...common, seed: 99, workers: 1 });
	await other.restoreReference(reference);
	await other.restore(state);
	assert.deepEqual(await train(other, 1, 3), expected);
	assert.deepEqual(await other.state(), await one.state());
	await other.dispose();
	// Also restore into the same learner, whose workers hold later weights.
	await one.sample(request(1));
	await one.restore(state);
	assert.deepEqual(await train(one, 1, 3), expected);
});

test('sampler log-probabilities match those of the training graph', async () => {
	const policy = await learner(2);
	await policy.setReference();
	for (const temperature of [1, 0.7]) {
		const samples = await policy.sample(request(7, { temperature, maxNewTokens: 50 }));
		const exact = await policy.logprobs(samples, 'policy', temperature);
		const rows = grpoRows(samples, false, exact);
		const update = await policy.updateGrpo(rows, { ...settings, temperature }, { ...adam, learningRate: 0 });
		samples.forEach((sample, i) => {
			assert.ok(distance(sample.logprobs, exact[i] as Float32Array) < 1e-4);
			assert.ok(distance(sample.logprobs, update.logprobs[i] as Float32Array) < 1e-4);
			assert.ok(distance(sample.entropies, update.entropies[i] as Float32Array) < 1e-4);
		});
		assert.ok(samples.some((sample) => sample.tokens.length === tinyShape.context && sample.truncated));
	}
});

test('the sampler cache keeps its contents while it grows and rows leave', async () => {
	// With 40 symbols, end-of-sequence is drawn late.
	const shape = { ...tinyShape, vocabulary: 40, context: 90 };
	const policy = await createLearner({ ...common, shape, seed: 2, workers: 1 });
	const samples = await policy.sample(request(8, { maxNewTokens: 90, temperature: 1 }));
	const exact = await policy.logprobs(samples, 'policy', 1);
	await policy.dispose();
	assert.ok(samples.some((sample) => sample.tokens.length > 40));
	assert.ok(new Set(samples.map((sample) => sample.tokens.length)).size > 3);
	samples.forEach((sample, i) => {
		assert.ok(distance(sample.logprobs, exact[i] as Float32Array) < 1e-4);
	});
});

test('completions do not change when other rows leave the batch', async () => {
	const policy = await learner(1);
	const greedy = request(3, { temperature: 0, maxNewTokens: 8 });
	const stopped = await policy.sample({ ...greedy, stop: [3, 4, 5] });
	assert.ok(new Set(stopped.map((sample) => sample.tokens.length - sample.promptLength)).size > 1);
	// A row that is alone in its batch has no neighbors that could leave.
	for (const [i, prompt] of greedy.prompts.entries()) {
		const [alone] = await policy.sample({ ...greedy, stop: [3, 4, 5], prompts: [prompt], seeds: ['other'] });
		assert.deepEqual(alone?.tokens, stopped[i]?.tokens);
		assert.ok(distance(alone?.logprobs ?? [], stopped[i]?.logprobs ?? [0]) < 1e-5);
	}
	// Each row also has its own random stream.
	const sampled = await policy.sample(request(4, { stop: [3] }));
	const third = request(4);
	const [alone] = await policy.sample({
		...third,
		stop: [3],
		prompts: third.prompts.slice(7, 8),
		seeds: third.seeds.slice(7, 8),
	});
	assert.deepEqual(alone?.tokens, sampled[7]?.tokens);
});

test('rows that share a prompt and diverge later match rows sampled alone', async () => {
	const policy = await createLearner({ ...common, shape: { ...tinyShape, context: 40 }, seed: 3, workers: 1 });
	const prompts = Array.from({ length: 12 }, (_, i) => (i % 3 === 0 ? [1, 5, 2] : [1, 4]));
	const seeds = prompts.map((_, i) => `alike ${i}`);
	for (const temperature of [0.5, 0]) {
		const sampled = await policy.sample({ prompts, seeds, maxNewTokens: 30, temperature, stop: [3] });
		const texts = sampled.map(({ tokens }) => tokens.join());
		if (temperature === 0) {
			assert.equal(new Set(texts).size, 2);
		} else {
			assert.ok(new Set(sampled.map(({ tokens }) => tokens.slice(0, 4).join())).size < new Set(texts).size);
			assert.ok(new Set(sampled.map(({ tokens }) => tokens.length)).size > 2);
		}
		for (const [i, prompt] of prompts.entries()) {
			const [alone] = await policy.sample({
				prompts: [prompt],
				seeds: [seeds[i] as string],
				maxNewTokens: 30,
				temperature,
				stop: [3],
			});
			assert.deepEqual(alone?.tokens, sampled[i]?.tokens);
			assert.ok(distance(alone?.logprobs ?? [], sampled[i]?.logprobs ?? [0]) < 1e-5);
		}
	}
	await policy.dispose();
});

test('completions end at end-of-sequence, a stop token, the length limit or the context limit', async () => {
	const policy = await learner(2);
	const many = request(5, { maxNewTokens: 5 });
	const samples = await policy.sample({ ...many, stop: [6] });
	for (const sample of samples) {
		const completion = sample.tokens.slice(sample.promptLength);
		assert.equal(completion.length, sample.logprobs.length);
		assert.equal(completion.length, sample.entropies.length);
		const ends = completion.findIndex((token) => token === 2 || token === 6);
		assert.equal(sample.truncated, ends < 0);
		assert.equal(completion.length, ends < 0 ? 5 : ends + 1);
	}
	assert.ok(samples.some((sample) => sample.truncated) && samples.some((sample) => !sample.truncated));
});

test('tokens are drawn with their probabilities, restricted to the nucleus if there is one', async () => {
	const policy = await learner(2);
	const prompt = [1, 4];
	const count = 2000;
	const draw = async (topP?: number) => {
		const samples = await policy.sample({
			prompts: Array.from({ length: count }, () => prompt),
			seeds: Array.from({ length: count }, (_, i) => `draw ${i}`),
			maxNewTokens: 1,
			temperature: 1,
			...(topP === undefined ? {} : { topP }),
		});
		const seen = new Map<number, { times: number; probability: number }>();
		for (const { tokens, logprobs } of samples) {
			const token = tokens[2] as number;
			const entry = seen.get(token) ?? { times: 0, probability: Math.exp(logprobs[0] as number) };
			entry.times++;
			seen.set(token, entry);
		}
		return seen;
	};
	const all = await draw();
	for (const { times, probability } of all.values()) {
		// Five standard deviations of a binomial proportion.
		const deviation = Math.sqrt((probability * (1 - probability)) / count);
		assert.ok(Math.abs(times / count - probability) < 5 * deviation);
	}
	assert.equal(all.size, tinyShape.vocabulary);
	const order = [...all].sort(([, a], [, b]) => b.probability - a.probability);
	const kept = await draw(0.5);
	let mass = 0;
	const nucleus = order.filter(([, { probability }]) => {
		const before = mass;
		mass += probability;
		return before < 0.5;
	});
	assert.deepEqual([...kept.keys()].sort(), nucleus.map(([token]) => token).sort());
});

test('an update without rows decays moments and weights', async () => {
	const policy = await learner(1);
	await policy.setReference();
	await train(policy, 0, 1);
	const before = await policy.state();
	const result = await policy.updateGrpo([], settings, adam);
	const state = await policy.state();
	assert.equal(result.loss, 0);
	assert.equal(result.gradNorm, 0);
	assert.equal(state.updates, before.updates + 1);
	assert.deepEqual(
		state.firstMoments,
		before.firstMoments.map((m) => m * adam.beta1),
	);
	assert.notDeepEqual(state.parameters, before.parameters);
	await policy.resetOptimizer();
	assert.equal((await policy.state()).updates, 0);
	assert.ok((await policy.state()).firstMoments.every((m) => m === 0));
});

test('an update with a non-finite gradient changes nothing', async () => {
	const policy = await learner(2);
	const samples = await policy.sample(request(1));
	const [first, ...others] = grpoRows(samples, true, []);
	const bad: GrpoRow[] = [{ ...(first as GrpoRow), advantage: Number.NaN }, ...others];
	const before = await policy.state();
	await assert.rejects(
		policy.updateGrpo(bad, { ...settings, beta: 0 }, adam),
		(error) => error instanceof Failure && error.reason === 'invalid',
	);
	assert.deepEqual(await policy.state(), before);
});

test('supervised updates lower the loss', async () => {
	const policy = await learner(2);
	const rows = [
		[1, 3, 4, 5, 2],
		[1, 4, 5, 6, 3, 2],
		[1, 5, 6, 2],
		[1, 6, 2],
	].map((tokens) => {
		const promptLength = 2;
		return { tokens, promptLength, weights: Float32Array.from(tokens.slice(promptLength), () => 1 / 10) };
	});
	const first = await policy.updateSft(rows, adam);
	let last = first;
	for (let step = 0; step < 60; step++) last = await policy.updateSft(rows, adam);
	assert.ok(last.loss < 0.1 * first.loss, `${first.loss} to ${last.loss}`);
	const [greedy] = await policy.sample({ prompts: [[1, 4]], seeds: [''], maxNewTokens: 6, temperature: 0 });
	assert.deepEqual(greedy?.tokens, [1, 4, 5, 6, 3, 2]);
	assert.equal(greedy?.truncated, false);
});

test('impossible requests are rejected with a reason', async () => {
	const refused = (reason: string) => (error: unknown) => error instanceof Failure && error.reason === reason;
	const policy = await createLearner({ ...common, seed: 1, workers: 1 });
	const long = Array.from({ length: tinyShape.context }, () => 3);
	assert.throws(() => policy.sample(request(0, { prompts: [long], seeds: ['a'] })), refused('invalid'));
	assert.throws(() => policy.sample(request(0, { seeds: ['a'] })), refused('invalid'));
	await assert.rejects(policy.logprobs([{ tokens: [...long, 3], promptLength: 1 }], 'policy', 1), refused('invalid'));
	await assert.rejects(policy.logprobs([{ tokens: [1, 3], promptLength: 1 }], 'reference', 1), refused('missing'));
	const short = { ...(await policy.state()), firstMoments: new Float32Array(3) };
	await assert.rejects(policy.restore(short), refused('mismatch'));
	const running = policy.sample(request(0));
	await assert.rejects(policy.setReference(), refused('busy'));
	await running;
	await assert.rejects(
		createLearner({ ...common, workers: 1, seed: 1, shape: { ...tinyShape, heads: 3 } }),
		refused('invalid'),
	);
	await assert.rejects(createLearner({ ...common, workers: 1, parameters: new Float32Array(3) }), refused('mismatch'));
	await policy.dispose();
	await assert.rejects(policy.sample(request(0)), refused('cancelled'));
});

test('requesting a missing device fails with an error that suggests what to do', async () => {
	const missing = process.platform === 'darwin' ? 'directml' : 'coreml';
	await assert.rejects(createLearner({ ...common, workers: 1, device: missing, seed: 1 }), (error: unknown) => {
		assert.ok(error instanceof Failure);
		assert.equal(error.reason, 'unsupported');
		assert.match(error.message, new RegExp(`^Cannot use the device ${missing}: .* does not include it\\.$`));
		assert.match(error.action ?? '', /"auto" or "cpu"/);
		return true;
	});
});

test('the device of an earlier attempt is only a preference', async () => {
	const preferred = process.platform === 'darwin' ? 'directml' : 'coreml';
	const options = { ...common, workers: 1, device: 'auto', preferred, seed: 1 } as const;
	const policy = await createLearner({ ...options, preferred: 'cpu' });
	await policy.dispose();
	assert.deepEqual([policy.execution.provider, policy.execution.tried], ['cpu', []]);
	const other = await createLearner(options);
	await other.dispose();
	assert.notEqual(other.execution.provider, preferred);
});
