import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Random } from '../../src/base/random.ts';
import { advantageSettings } from '../../src/core/grpo/advantages/advantageSettings.ts';
import { estimateAdvantages } from '../../src/core/grpo/advantages/estimate.ts';
import { defaultObjective, type Objective } from '../../src/core/grpo/objective/objective.ts';
import { rowLoss } from '../../src/core/grpo/objective/rowLoss.ts';
import { updateMetrics } from '../../src/core/grpo/stepMetrics.ts';
import { tokenFactors, tokenPenalties } from '../../src/core/grpo/tokenSelection/tokenFactors.ts';
import { combineRewards } from '../../src/core/reward/combineRewards.ts';

interface GroupCase {
	rewards: (number | null)[];
	size: number;
	k: number;
	advantages: number[];
}

interface BatchCase {
	rewards: (number | null)[][];
	weights: number[];
	size: number;
	advantages: number[];
}

interface EntropyCase {
	masked: boolean[];
	entropies: number[][];
	share: number;
	selected: number[][];
}

interface CovarianceCase {
	masked: boolean[];
	logprobs: number[][];
	old: number[][];
	advantages: number[];
	lowest: number;
	highest: number;
	loss: number;
	gradients: number[][];
}

interface DppoCase {
	kind: 'dppo_tv' | 'dppo_kl';
	masked: boolean[];
	logprobs: number[][];
	old: number[][];
	advantages: number[];
	low: number;
	high: number;
	loss: number;
	gradients: number[][];
	leftOut: number;
}

interface PenaltyCase {
	masked: boolean[];
	logprobs: number[][];
	old: number[][];
	advantages: number[];
	share: number;
	coefficient: number;
	loss: number;
	gradients: number[][];
}

interface Golden {
	gdpo: BatchCase[];
	passAtK: GroupCase[];
	maxrl: GroupCase[];
	topEntropy: EntropyCase[];
	clipCov: CovarianceCase[];
	dppo: DppoCase[];
	klCov: PenaltyCase[];
}

/** Written by makeEstimatorGolden.py from TRL 1.13 and the code of the papers' authors. */
const golden: Golden = JSON.parse(
	readFileSync(process.env.ESTIMATOR_GOLDEN ?? new URL('../fixtures/golden/estimators.json', import.meta.url), 'utf8'),
);

function near(actual: ArrayLike<number>, expected: readonly number[], what: string, tolerance: number): void {
	assert.equal(actual.length, expected.length);
	for (const [i, value] of expected.entries()) {
		assert.ok(
			Math.abs((actual[i] as number) - value) <= tolerance * Math.max(1, Math.abs(value)),
			`${what}, row ${i}: ${actual[i]}, expected ${value}`,
		);
	}
}

test("GDPO advantages equal TRL's", () => {
	for (const [i, { rewards, weights, size, advantages }] of golden.gdpo.entries()) {
		const rows = rewards.map((values) => ({ values, reward: combineRewards(values, weights) }));
		const settings = advantageSettings({ multi_objective_aggregation: 'normalize_then_sum' });
		// TRL counts values in single precision.
		near(estimateAdvantages(rows, weights, size, settings).values, advantages, `case ${i}`, 1e-7);
	}
});

for (const estimator of ['pass_at_k', 'maxrl'] as const) {
	test(`${estimator} advantages equal those from its authors' code`, () => {
		const cases = golden[estimator === 'maxrl' ? 'maxrl' : 'passAtK'];
		for (const [i, { rewards, size, k, advantages }] of cases.entries()) {
			const rows = rewards.map((reward) => ({ values: [reward], reward }));
			const settings = advantageSettings({ advantage_estimator: estimator, pass_k: k });
			// The code for MaxRL computes means in single precision.
			const { values } = estimateAdvantages(rows, [1], size, settings);
			near(values, advantages, `case ${i}`, estimator === 'maxrl' ? 1e-6 : 1e-9);
		}
		const groups = cases.flatMap(({ rewards, size, advantages }) =>
			Array.from({ length: rewards.length / size }, (_, g) => ({
				known: rewards.slice(g * size, (g + 1) * size).filter((reward) => reward !== null),
				advantages: advantages.slice(g * size, (g + 1) * size),
			})),
		);
		assert.ok(groups.some(({ advantages }) => advantages.some((value) => value !== 0)));
		assert.ok(
			groups.some(({ known }) => known.length > 1 && new Set(known).size === 1),
			'dead groups',
		);
		assert.ok(cases.some(({ rewards }) => rewards.includes(null)));
	});
}

test('the tokens with the highest entropies are the same as in TRL', () => {
	for (const [i, { masked, entropies, share, selected }] of golden.topEntropy.entries()) {
		const rows = entropies.map((own, r) => ({
			masked: masked[r] as boolean,
			advantage: 1,
			entropies: Float32Array.from(own),
			logprobs: own,
			oldLogprobs: null,
		}));
		const factors = tokenFactors(rows, { topEntropy: share, clipCov: null }, defaultObjective, Random.of(1));
		assert.deepEqual(
			factors.map((row) => [...row]),
			selected,
			`case ${i}, share ${share}`,
		);
	}
});

interface VerlCase {
	masked: boolean[];
	logprobs: number[][];
	old: number[][];
	advantages: number[];
	loss: number;
	gradients: number[][];
}

const rowsOf = ({ masked, logprobs, old, advantages }: VerlCase) =>
	logprobs.map((own, r) => ({
		...{ logprobs: own, entropies: own, refLogprobs: null },
		masked: masked[r] as boolean,
		advantage: advantages[r] as number,
		oldLogprobs: old[r] as number[],
	}));

/** Compares losses and gradients, as means over the tokens of unmasked rows. */
function sameLoss(
	one: VerlCase,
	objective: Objective,
	terms: { factors?: Float32Array[]; penalties?: Float32Array[] },
	what: string,
): void {
	const rows = rowsOf(one);
	const tokens = rows.reduce((sum, { masked, logprobs }) => sum + (masked ? 0 : logprobs.length), 0);
	let sum = 0;
	for (const [r, row] of rows.entries()) {
		const own = rowLoss(
			{ ...row, factors: terms.factors?.[r] ?? null, penalties: terms.penalties?.[r] ?? null },
			objective,
		);
		const weight = row.masked ? 0 : 1 / tokens;
		sum += own.losses.reduce((a, b) => a + b, 0) * weight;
		near(
			own.gradients.map((gradient) => gradient * weight),
			one.gradients[r] as number[],
			`${what}, gradient of row ${r}`,
			1e-7,
		);
	}
	near([sum], [one.loss], `${what}, loss`, 1e-7);
}

/** Checks that some rows are masked, some have no advantage, some have one token, and most cases have a gradient. */
function covers(cases: readonly VerlCase[]): void {
	assert.ok(cases.some(({ masked }) => masked.includes(true)));
	assert.ok(cases.some(({ advantages }) => advantages.includes(0)));
	assert.ok(cases.some(({ logprobs }) => logprobs.some((own) => own.length === 1)));
	const moving = cases.filter(({ gradients }) => gradients.flat().some((gradient) => gradient !== 0));
	assert.ok(moving.length > 0.5 * cases.length, `${moving.length} of ${cases.length} have a gradient`);
}

test("Clip-Cov losses and gradients equal verl's", () => {
	covers(golden.clipCov);
	let excluded = 0;
	for (const [i, one] of golden.clipCov.entries()) {
		const objective = { ...defaultObjective, epsilonLow: 0.2, epsilonHigh: 0.28 };
		const clipCov = { ratio: 1, lowest: one.lowest, highest: one.highest };
		const rows = rowsOf(one);
		const factors = tokenFactors(rows, { topEntropy: null, clipCov }, objective, Random.of(i));
		sameLoss(one, objective, { factors }, `case ${i}`);
		for (const [r, row] of factors.entries()) if (!rows[r]?.masked) excluded += row.filter((one) => one === 0).length;
	}
	assert.ok(excluded > golden.clipCov.length / 4, `${excluded} tokens were excluded`);
});

test("DPPO losses, gradients and fractions of excluded tokens equal verl's", () => {
	covers(golden.dppo);
	let leftOutInAll = 0;
	for (const [i, one] of golden.dppo.entries()) {
		const { kind, low, high, leftOut } = one;
		const objective = { ...defaultObjective, lossType: kind, epsilonLow: low, epsilonHigh: high };
		sameLoss(one, objective, {}, `case ${i} (${kind})`);
		const share = updateMetrics(rowsOf(one), objective)['clip_ratio/region_mean'];
		near([share ?? Number.NaN], [leftOut], `case ${i}, excluded`, 1e-6);
		leftOutInAll += leftOut;
	}
	assert.ok(leftOutInAll / golden.dppo.length > 0.1, 'some tokens are excluded');
});

test("KL-Cov losses and gradients equal verl's", () => {
	covers(golden.klCov);
	const objective = { ...defaultObjective, epsilonLow: 1e9, epsilonHigh: 1e9 };
	for (const [i, one] of golden.klCov.entries()) {
		const penalties = tokenPenalties(rowsOf(one), { share: one.share, coefficient: one.coefficient });
		sameLoss(one, objective, { penalties }, `case ${i}`);
	}
});
