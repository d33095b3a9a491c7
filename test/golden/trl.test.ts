import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Random } from '../../src/base/random.ts';
import { computeAdvantages, type ScaleRewards } from '../../src/core/grpo/advantages/groupAdvantages.ts';
import { type AdaptiveEntropy, afterUpdate, bonusWeight } from '../../src/core/grpo/entropyBonus.ts';
import { isSkippable, tokenWeights } from '../../src/core/grpo/lossWeights.ts';
import { defaultObjective, type Objective } from '../../src/core/grpo/objective/objective.ts';
import { rowLoss } from '../../src/core/grpo/objective/rowLoss.ts';
import { samplerRow } from '../../src/core/grpo/objective/samplerRow.ts';
import { rolloutMetrics } from '../../src/core/grpo/rolloutMetrics.ts';
import { type Metrics, updateMetrics } from '../../src/core/grpo/stepMetrics.ts';
import { tokenFactors } from '../../src/core/grpo/tokenSelection/tokenFactors.ts';
import { combineRewards } from '../../src/core/reward/combineRewards.ts';
import { ofTrained } from '../../src/engines/embedded/run/trainedTokens.ts';

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
	/** 0 for tokens from an environment (TRL's `tool_mask`). Absent if there are none. */
	trained?: number[];
	/** Log-probabilities under the policy that sampled. Absent without a correction. */
	samplerLogprobs?: number[];
	/** Derivatives of the loss with respect to the entropies. Absent without an entropy bonus. */
	entropyGradient?: number[];
}

interface LossCase {
	settings: Partial<Objective> & {
		maxCompletionLength: number;
		stepsPerGeneration: number;
		topEntropy?: number;
		bonus?: { adaptive: AdaptiveEntropy | null };
	};
	generationTokens: number;
	rows: GoldenRow[];
	loss: number;
	metrics: Metrics;
	/** State of the entropy bonus before the update, and its coefficient after it. */
	bonus?: { coefficient: number; entropy: number | null; after: number };
}

/**
 * Written by makeTrlGolden.py from TRL 1.13's own code, in double precision except for counts and clip masks, which it
 * keeps in single precision.
 */
const golden: Readonly<Record<'losses' | 'objectives' | 'episodes' | 'corrections' | 'selections', LossCase[]>> & {
	readonly advantages: AdvantageCase[];
} = JSON.parse(readFileSync(process.env.TRL_GOLDEN ?? new URL('../fixtures/golden/trl.json', import.meta.url), 'utf8'));

/**
 * Returns a row without the tokens from the environment. The embedded engine computes everything from the remaining
 * tokens.
 */
function ofPolicy(row: GoldenRow): GoldenRow {
	const { trained } = row;
	if (trained === undefined) return row;
	const own = (values: number[]) => [...ofTrained(Float64Array.from(values), Uint8Array.from(trained))];
	const { logprobs, oldLogprobs, refLogprobs, entropies, gradient, samplerLogprobs, entropyGradient } = row;
	return {
		...row,
		logprobs: own(logprobs),
		oldLogprobs: oldLogprobs && own(oldLogprobs),
		refLogprobs: own(refLogprobs),
		entropies: own(entropies),
		gradient: own(gradient),
		...(samplerLogprobs ? { samplerLogprobs: own(samplerLogprobs) } : {}),
		...(entropyGradient ? { entropyGradient: own(entropyGradient) } : {}),
	};
}

/** Returns a row with the sampler data that the objective needs. */
function corrected(row: GoldenRow, objective: Objective) {
	const { samplerLogprobs } = row;
	if (samplerLogprobs === undefined) return row;
	return { ...row, ...samplerRow({ oldLogprobs: row.oldLogprobs ?? row.logprobs, samplerLogprobs }, objective) };
}

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
	const cases = [...golden.losses, ...golden.objectives, ...golden.episodes, ...golden.corrections];
	for (const [i, { settings, generationTokens, rows: all, loss, metrics }] of cases.entries()) {
		const objective: Objective = { ...defaultObjective, ...settings };
		const rows = all.map((row) => corrected(ofPolicy(row), objective));
		const { lossType, level, beta } = objective;
		it(`case ${i}: ${lossType}, ${level}, beta ${beta}, ${rows.length} rows`, () => {
			const lossRows = rows.map(({ masked, logprobs }) => ({ masked, length: logprobs.length }));
			const weights = tokenWeights(lossRows, { ...settings, lossType, generationTokens });
			// TRL rounds SAPO's temperatures and VESPO's exponents to single precision.
			const tolerance = lossType === 'sapo' || lossType === 'vespo' ? 1e-6 : 1e-12;
			let sum = 0;
			for (const [r, row] of rows.entries()) {
				const weight = weights[r] as number;
				const skippable = isSkippable({ weight, advantage: row.advantage }, beta);
				const { losses, gradients } = rowLoss(row, objective);
				for (const t of row.logprobs.keys()) {
					sum += weight * (losses[t] as number);
					close(weight * (gradients[t] as number), row.gradient[t], `gradient of row ${r}, token ${t}`, tolerance);
					if (skippable) assert.ok(row.gradient[t] === 0, `token ${t} of row ${r} has a gradient`);
				}
			}
			// TRL's GMPO counts a masked completion as if its ratio were 1, which adds a constant to the loss.
			if (lossType === 'gmpo') for (const row of rows) if (row.masked) sum -= row.advantage / rows.length;
			close(sum, loss, 'loss', tolerance);
			const own = updateMetrics(rows, objective);
			const nothing = rows.every((row) => row.masked);
			for (const [name, expected] of Object.entries(metrics)) close(own[name], nothing ? null : expected, name);
			for (const { trained = [], gradient } of all) {
				assert.ok(
					trained.every((one, t) => one === 1 || gradient[t] === 0),
					'a token from the environment has a gradient',
				);
			}
			assert.deepEqual(Object.keys(own).toSorted(), Object.keys(metrics).toSorted());
		});
	}

	it('covers every loss with gradients, masked rows, rows without advantage and rows of one token', () => {
		const covered = new Map<
			string,
			{ gradient: number; masked: number; dead: number; short: number; clipped: number }
		>();
		for (const { settings, rows, metrics } of [...cases, ...golden.selections]) {
			const name = `${settings.lossType ?? defaultObjective.lossType}, ${settings.level ?? 'token'}`;
			const counts = covered.get(name) ?? { gradient: 0, masked: 0, dead: 0, short: 0, clipped: 0 };
			covered.set(name, counts);
			// Require an advantage, so that the gradient does not come from the KL term alone.
			if (rows.some((row) => row.advantage !== 0 && row.gradient.some((one) => one !== 0))) counts.gradient++;
			if (rows.some((row) => row.masked)) counts.masked++;
			if (rows.some((row) => row.advantage === 0)) counts.dead++;
			if (rows.some((row) => row.logprobs.length === 1)) counts.short++;
			if ((metrics['clip_ratio/region_mean'] ?? metrics.cispo_clip_ratio ?? 0) > 0) counts.clipped++;
		}
		for (const [name, counts] of covered) {
			for (const [what, count] of Object.entries(counts)) {
				const unclipped = what === 'clipped' && /^(sapo|vespo)/.test(name);
				assert.equal(count > 0, !unclipped, `${name}: ${count} batches with ${what}`);
			}
		}
	});
});

describe("TRL's selection of tokens and entropy bonus", () => {
	for (const [i, { settings, generationTokens, rows: all, loss, bonus }] of golden.selections.entries()) {
		const { lossType = defaultObjective.lossType, topEntropy = null } = settings;
		it(`case ${i}: ${lossType}, top ${topEntropy}, ${bonus ? 'with' : 'without'} a bonus`, () => {
			const objective: Objective = { ...defaultObjective, ...settings };
			const rows = all.map((row) => corrected(ofPolicy(row), objective));
			const lossRows = rows.map(({ masked, logprobs }) => ({ masked, length: logprobs.length }));
			const weights = tokenWeights(lossRows, { ...settings, lossType, generationTokens });
			const factors = tokenFactors(rows, { topEntropy, clipCov: null }, objective, Random.of(i));
			const selected = factors.flatMap((own) => [...own]).reduce((a, b) => a + b, 0);
			const adaptive = settings.bonus?.adaptive ?? null;
			const weight = bonus ? bonusWeight(bonus, adaptive) : 0;
			const tolerance = lossType === 'sapo' || lossType === 'vespo' ? 1e-6 : 1e-12;
			let [sum, entropies] = [0, 0];
			for (const [r, row] of rows.entries()) {
				const own = factors[r] as Float32Array;
				const { losses, gradients } = rowLoss({ ...row, factors: own }, objective);
				for (const [t, factor] of own.entries()) {
					sum += (weights[r] as number) * (losses[t] as number);
					entropies += factor * (row.entropies[t] as number);
					const gradient = (weights[r] as number) * (gradients[t] as number);
					close(gradient, row.gradient[t], `gradient of row ${r}, token ${t}`, tolerance);
					if (row.entropyGradient === undefined) continue;
					const share = (-weight * factor) / Math.max(1, selected);
					close(share, row.entropyGradient[t], `entropy of row ${r}, token ${t}`, 1e-7);
				}
			}
			close(sum - (weight * entropies) / Math.max(1, selected), loss, 'loss', tolerance);
			// For TRL, the entropy of an update without tokens is 0. Here, such an update changes nothing.
			if (bonus === undefined || adaptive === null || selected === 0) return;
			close(afterUpdate(bonus, entropies / selected, adaptive).coefficient, bonus.after, 'coefficient');
		});
	}

	it('covers tokens that are excluded, and bonuses that apply, rise and fall', () => {
		const share = (want: (one: LossCase) => boolean) =>
			golden.selections.filter(want).length / golden.selections.length;
		const zero = ({ rows }: LossCase) =>
			rows.some((row) => !row.masked && row.advantage !== 0 && row.gradient.some((one) => one === 0));
		assert.ok(share((one) => one.settings.topEntropy !== undefined && one.settings.beta === 0 && zero(one)) > 0.1);
		assert.ok(share(({ rows }) => rows.some((row) => row.entropyGradient?.some((one) => one !== 0) ?? false)) > 0.1);
		assert.ok(share(({ bonus }) => bonus !== undefined && bonus.after > bonus.coefficient) > 0.02);
		assert.ok(share(({ bonus }) => bonus !== undefined && bonus.after < bonus.coefficient) > 0.02);
	});
});
