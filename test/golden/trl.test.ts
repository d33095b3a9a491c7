import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { computeAdvantages, type ScaleRewards } from '../../src/core/grpo/advantages.ts';
import { tokenLoss } from '../../src/core/grpo/clippedLoss.ts';
import { isSkippable, tokenWeights } from '../../src/core/grpo/lossWeights.ts';
import { rolloutMetrics } from '../../src/core/grpo/rolloutMetrics.ts';
import { type Metrics, updateMetrics } from '../../src/core/grpo/stepMetrics.ts';
import { combineRewards } from '../../src/core/reward/combineRewards.ts';
import type { EmbeddedLossType } from '../../src/protocol/recipe/groupStages.ts';

interface AdvantageCase {
	scale: ScaleRewards;
	size: number;
	names: string[];
	weights: number[];
	rewards: (number | null)[][];
	advantages: number[];
	metrics: Metrics;
}

interface GoldenRow {
	masked: boolean;
	advantage: number;
	logprobs: number[];
	oldLogprobs: number[] | null;
	refLogprobs: number[];
	entropies: number[];
	gradient: number[];
}

interface LossCase {
	settings: {
		lossType: EmbeddedLossType;
		beta: number;
		epsilonLow: number;
		epsilonHigh: number;
		maxCompletionLength: number;
		stepsPerGeneration: number;
	};
	generationTokens: number;
	rows: GoldenRow[];
	loss: number;
	metrics: Metrics;
}

/**
 * Written by makeTrlGolden.py from TRL 1.13's own code, in double precision except for counts and clip masks, which it
 * keeps in single precision.
 */
const golden: { advantages: AdvantageCase[]; losses: LossCase[] } = JSON.parse(
	readFileSync(new URL('../fixtures/golden/trl.json', import.meta.url), 'utf8'),
);

function close(
	actual: number | null | undefined,
	expected: number | null | undefined,
	what: string,
	tolerance = 1e-7,
): void {
	if (expected === null || expected === undefined || actual === null || actual === undefined) {
		assert.equal(actual, expected, what);
		return;
	}
	assert.ok(
		Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)),
		`${what}: ${actual}, TRL ${expected}`,
	);
}

describe("TRL's advantages and reward metrics", () => {
	for (const [i, { scale, size, names, weights, rewards, advantages, metrics }] of golden.advantages.entries()) {
		it(`case ${i}: scale_rewards ${scale}, groups of ${size}`, () => {
			const sums = rewards.map((row) => combineRewards(row, weights));
			const ours = computeAdvantages(sums, size, scale);
			for (const [row, expected] of advantages.entries()) {
				close(ours.values[row], expected, `advantage ${row}`);
			}
			const rollouts = rewards.map((row, at) => ({
				rewards: Object.fromEntries(names.map((name, j) => [name, row[j] ?? null])),
				reward: sums[at] ?? null,
				length: 1,
				truncated: false,
			}));
			const own = rolloutMetrics(rollouts, names, { dead: ours.dead, size, scale });
			for (const [name, expected] of Object.entries(metrics)) {
				close(own[name], expected, name);
			}
			// A group with one scored completion is dead here because it has no gradient. TRL's standard deviation for it is
			// NaN, not 0.
			const scored = sums.map((sum, at) => [Math.floor(at / size), sum] as const);
			const dead = ours.dead.map(
				(_, group) => new Set(scored.filter(([g, sum]) => g === group && sum !== null).map(([, sum]) => sum)).size < 2,
			);
			assert.deepEqual(ours.dead, dead);
			close(own['groups/dead'], dead.filter((one) => one).length / dead.length, 'groups/dead');
		});
	}
});

describe("TRL's losses, gradients and metrics of an update", () => {
	for (const [i, { settings, generationTokens, rows, loss, metrics }] of golden.losses.entries()) {
		it(`case ${i}: ${settings.lossType}, beta ${settings.beta}, ${rows.length} rows`, () => {
			const lossRows = rows.map(({ masked, logprobs }) => ({ masked, length: logprobs.length }));
			const weights = tokenWeights(lossRows, { ...settings, generationTokens });
			let sum = 0;
			for (const [r, row] of rows.entries()) {
				const weight = weights[r] as number;
				const skippable = isSkippable({ weight, advantage: row.advantage }, settings.beta);
				for (const [t, logprob] of row.logprobs.entries()) {
					const token = tokenLoss({
						...settings,
						logprob,
						oldLogprob: row.oldLogprobs?.[t] ?? logprob,
						refLogprob: row.refLogprobs[t] as number,
						advantage: row.advantage,
					});
					sum += weight * token.loss;
					close(weight * token.gradient, row.gradient[t], `gradient of row ${r}, token ${t}`, 1e-12);
					if (skippable) assert.ok(row.gradient[t] === 0, `token ${t} of row ${r} has a gradient`);
				}
			}
			close(sum, loss, 'loss', 1e-12);
			const own = updateMetrics(rows, settings);
			const nothing = rows.every((row) => row.masked);
			for (const [name, expected] of Object.entries(metrics)) close(own[name], nothing ? null : expected, name);
			assert.deepEqual(Object.keys(own).toSorted(), Object.keys(metrics).toSorted());
		});
	}

	it('covers skipped, masked and clipped rows', () => {
		const rows = golden.losses.flatMap((one) => one.rows);
		assert.ok(rows.some((row) => row.masked) && rows.some((row) => row.advantage === 0));
		assert.ok(golden.losses.some((one) => (one.metrics['clip_ratio/low_mean'] ?? 0) > 0));
		assert.ok(golden.losses.some((one) => (one.metrics['clip_ratio/high_mean'] ?? 0) > 0));
	});
});
