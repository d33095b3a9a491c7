import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { defaultObjective } from '../../../../../src/core/grpo/objective/objective.ts';
import { pack, packedBatches } from '../../../../../src/engines/embedded/compute/packing.ts';
import { createLearner } from '../../../../../src/engines/embedded/createLearner.ts';
import type { GrpoRow, Sequence } from '../../../../../src/engines/embedded/learner.ts';
import { adam, distance, sharingRows, tinyShape } from '../computeHarness.ts';

/** Returns the distinct proper prefixes of all texts, per prompt. */
function prefixes(rows: readonly Sequence[]): Set<string> {
	return new Set(
		rows.flatMap(({ tokens, promptLength }) => {
			const prompt = tokens.slice(0, promptLength).join();
			return tokens.slice(0, -1).map((_, t) => `${prompt}: ${tokens.slice(0, t + 1).join()}`);
		}),
	);
}

test('each text prefix appears once', () => {
	const batch = pack(sharingRows);
	assert.equal(batch.groups, 3);
	assert.equal(batch.shared, 2 + 3 + 0);
	// One position is padding.
	assert.equal(batch.shared + batch.own, prefixes(sharingRows).size + 1);
	assert.equal(batch.tokens.length, batch.shared + batch.own);
	for (const [r, { tokens, promptLength }] of sharingRows.entries()) {
		for (let j = 0; j < batch.kept; j++) {
			const place = batch.places[r * batch.kept + j] as number;
			const t = promptLength + j;
			if (t >= tokens.length) {
				assert.equal(place, batch.own - 1);
				continue;
			}
			assert.equal(batch.tokens[batch.shared + place], tokens[t - 1]);
			assert.equal(batch.targets[r * batch.kept + j], tokens[t]);
			assert.equal(batch.depth[place], j);
		}
	}
});

test('equal tokens after different prompts get separate positions', () => {
	const batch = pack([
		{ tokens: [1, 4, 2, 3], promptLength: 2 },
		{ tokens: [5, 4, 2, 3], promptLength: 2 },
		{ tokens: [4, 2, 3], promptLength: 1 },
	]);
	assert.equal(batch.groups, 3);
	assert.equal(batch.own, 6 + 1);
});

test('micro-batches contain every row once and group rows by prompt where that saves work', () => {
	const random = Random.of('micro-batches');
	const groups = Array.from({ length: 8 }, (_, g) => [1, g, 2, 2, 3]);
	const row = (g: number): Sequence => {
		const prompt = groups[g] as number[];
		return { tokens: [...prompt, ...Array.from({ length: 4 + random.int(3) }, () => random.int(7))], promptLength: 5 };
	};
	// Rows of all prompts, interleaved.
	const rows = Array.from({ length: 64 }, (_, i) => row(i % 8));
	const batches = packedBatches(rows, 16, 8);
	assert.deepEqual(
		batches.flat().sort((a, b) => a - b),
		rows.map((_, i) => i),
	);
	for (const batch of batches) assert.ok(new Set(batch.map((i) => i % 8)).size <= 2, `${batch}`);
	assert.deepEqual(packedBatches(rows, 16, 8), batches);
	// Without shared prefixes, the longest rows come first.
	const alone = Array.from({ length: 32 }, (_, i) => ({
		tokens: Array.from({ length: 6 + ((i * 7) % 20) }, (_, t) => (t === 0 ? i : 3)),
		promptLength: 1,
	}));
	const lengths = packedBatches(alone, 8, 8).map((batch) => batch.map((i) => alone[i]?.tokens.length as number));
	const flat = lengths.flat();
	assert.deepEqual(
		flat,
		[...flat].sort((a, b) => b - a),
	);
});

/** Runs one update from fixed initial weights. */
async function update(rows: readonly Sequence[], trainRows: number) {
	const learner = await createLearner({
		shape: tinyShape,
		seed: 4,
		device: 'cpu',
		workers: 1,
		sampleRows: 8,
		trainRows,
	});
	try {
		const grpo = rows.map(
			({ tokens, promptLength }, r): GrpoRow => ({
				tokens,
				promptLength,
				weights: new Float32Array(tokens.length - promptLength).fill(0.1),
				advantage: [1.1, -0.8, -0.4, 0.7, -1.2][r] as number,
				oldLogprobs: null,
				refLogprobs: null,
			}),
		);
		const settings = { ...defaultObjective, temperature: 1 };
		const result = await learner.updateGrpo(grpo, settings, { ...adam, maxGradNorm: 0 });
		// After one update, a first moment is the gradient times 1 - beta1.
		return { ...result, moments: (await learner.state()).firstMoments };
	} finally {
		await learner.dispose();
	}
}

test('rows computed together have the same losses and gradient as rows computed alone', async () => {
	const together = await update(sharingRows, 8);
	const alone = await update(sharingRows, 1);
	assert.ok(Math.abs(together.loss - alone.loss) < 1e-6);
	assert.ok(alone.moments.some((x) => Math.abs(x) > 1e-3));
	assert.ok(distance(together.moments, alone.moments) < 1e-7, `${distance(together.moments, alone.moments)}`);
	for (const [r, { tokens, promptLength }] of sharingRows.entries()) {
		assert.equal(together.logprobs[r]?.length, tokens.length - promptLength);
		assert.ok(distance(together.logprobs[r] as Float32Array, alone.logprobs[r] as Float32Array) < 1e-5);
		assert.ok(distance(together.entropies[r] as Float32Array, alone.entropies[r] as Float32Array) < 1e-5);
	}
});
