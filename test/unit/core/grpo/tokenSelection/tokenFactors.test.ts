import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { defaultObjective } from '../../../../../src/core/grpo/objective/objective.ts';
import { clipCovDefaults, clippedByCovariance } from '../../../../../src/core/grpo/tokenSelection/clipCov.ts';
import { type SelectionRow, tokenFactors } from '../../../../../src/core/grpo/tokenSelection/tokenFactors.ts';
import { entropyThreshold } from '../../../../../src/core/grpo/tokenSelection/topEntropy.ts';

const row = (entropies: number[], more: Partial<SelectionRow> = {}): SelectionRow => ({
	masked: false,
	advantage: 1,
	entropies,
	logprobs: entropies.map((entropy) => -entropy),
	oldLogprobs: null,
	...more,
});
const factors = (rows: SelectionRow[], topEntropy: number | null, ratio: number | null = null) =>
	tokenFactors(
		rows,
		{ topEntropy, clipCov: ratio === null ? null : { ratio, ...clipCovDefaults } },
		defaultObjective,
		Random.of(1),
	).map((one) => [...one]);

test('the entropy threshold is an interpolated quantile over all tokens', () => {
	assert.equal(entropyThreshold(Float64Array.of(4, 1, 3, 2), 0.5), 2.5);
	assert.equal(entropyThreshold(Float64Array.of(4, 1, 3, 2), 1), 1);
	assert.equal(entropyThreshold(Float64Array.of(4, 1, 3, 2), 0), 4);
	assert.equal(entropyThreshold(Float64Array.of(7), 0.2), 7);
});

test('tokens at or above the threshold are selected, over all rows; masked rows do not count', () => {
	assert.deepEqual(factors([row([0.1, 0.9, 0.5]), row([0.2, 0.3]), row([5, 5, 5, 5], { masked: true })], 0.4), [
		[0, 1, 1],
		[0, 0],
		[0, 0, 0, 0],
	]);
	assert.deepEqual(factors([row([0.5, 0.5])], 0.1), [[1, 1]], 'equal entropies');
	assert.deepEqual(factors([row([1], { masked: true })], 0.5), [[0]], 'every token is masked');
});

test('Clip-Cov excludes a share of the tokens whose covariance lies between the bounds', () => {
	const likely = { advantage: 2, logprob: 0, clipped: false };
	const unlikely = { advantage: -2, logprob: -1, clipped: false };
	// Means 0 and -0.5: every covariance is 2 * 0.5 = 1, which is not above the bound.
	assert.deepEqual(clippedByCovariance([likely, unlikely], { ratio: 1, lowest: 1, highest: 5 }, Random.of(1)), []);
	const tokens = [...Array(50).fill(likely), ...Array(50).fill(unlikely)];
	const drawn = (ratio: number, seed: number) =>
		clippedByCovariance(tokens, { ratio, lowest: 0.9, highest: 5 }, Random.of(seed));
	assert.equal(drawn(0.1, 1).length, 10);
	assert.equal(drawn(0.0001, 1).length, 1, 'at least one');
	assert.equal(new Set(drawn(0.5, 1)).size, 50);
	assert.deepEqual(drawn(0.1, 3), drawn(0.1, 3));
	assert.notDeepEqual(drawn(0.1, 3), drawn(0.1, 4));
	assert.deepEqual(
		clippedByCovariance(
			tokens.map((token) => ({ ...token, clipped: token.advantage > 0 })),
			{ ratio: 1, lowest: 0.9, highest: 5 },
			Random.of(1),
		).filter((i) => i < 50),
		[],
		'clipped tokens already have no gradient',
	);
});

test('Clip-Cov leaves out tokens that clipping or the entropy threshold already excludes', () => {
	// The first token has the largest covariance, but its ratio is above the range.
	const rows = [
		row([0.1, 0.1], { advantage: 4, logprobs: [0, 0], oldLogprobs: [-1, 0] }),
		row([0.1, 0.1], { advantage: -4, logprobs: [-3, -3], oldLogprobs: [-3, -3] }),
	];
	for (let seed = 0; seed < 20; seed++) {
		const [first] = tokenFactors(
			rows,
			{ topEntropy: null, clipCov: { ratio: 0.75, lowest: 1, highest: 100 } },
			defaultObjective,
			Random.of(seed),
		);
		assert.deepEqual([...(first as Float32Array)], [1, 0]);
	}
});
