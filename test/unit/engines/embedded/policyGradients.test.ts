import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { defaultObjective, type Objective } from '../../../../src/core/grpo/objective/objective.ts';
import { rowLoss } from '../../../../src/core/grpo/objective/rowLoss.ts';
import { samplerRow } from '../../../../src/core/grpo/objective/samplerRow.ts';
import { observationSurprise, observationWeights } from '../../../../src/core/grpo/observationLoss.ts';
import type { Sequence } from '../../../../src/engines/embedded/learner.ts';
import { elementCount, initialParameters, parameterSpecs } from '../../../../src/engines/embedded/model/parameters.ts';
import { policyScalars, policyVariant } from '../../../../src/engines/embedded/model/policyVariant.ts';
import {
	type GradientVariant,
	gradientName,
	gradientProgram,
	variantName,
} from '../../../../src/engines/embedded/model/programs.ts';
import {
	differenceError,
	distance,
	type Feed,
	Program,
	packedFeeds,
	sharingRows,
	somePlaces,
	tinyShape,
} from './computeHarness.ts';

/**
 * Checks the losses of GRPO's loss types, RLOO, PPO and DPO in double precision: values against the formula over the
 * log-probabilities, and gradients against the formula's derivative propagated through the model (the gradient of the
 * sum of coefficient * logprob, which the SFT loss test checks against finite differences) and against central
 * differences of the loss itself.
 */

/** Two pairs of rows, each pair with one prompt. */
const sequences: readonly Sequence[] = [
	...sharingRows.slice(0, 2),
	{ tokens: [1, 2, 4, 6, 3, 5, 0, 1], promptLength: 4 },
	{ tokens: [1, 2, 4, 6, 3, 2], promptLength: 4 },
];
const rows = sequences.length;
const lengths = sequences.map((row) => row.tokens.length - row.promptLength);
/** Length of the longest completion. */
const tokens = Math.max(...lengths);

const counts = (i: number): boolean => i % tokens < (lengths[Math.floor(i / tokens)] as number);
const rowOf = (i: number): number => Math.floor(i / tokens);
const everywhere = Array.from({ length: rows * tokens }, (_, i) => i);
const specs = parameterSpecs(tinyShape);
const random = Random.of('policy gradients', 5);
// Larger than the initial weights so that every path matters.
const flat = Array.from(initialParameters(tinyShape, 3), (x) => x + 0.3 * random.normal());

const text: Record<string, Feed> = {
	...packedFeeds(sequences),
	'inverse temperature': { shape: [], values: [1 / 0.8] },
};

const perToken = (value: (i: number) => number, elsewhere = 0): Feed => ({
	shape: [rows, tokens],
	values: everywhere.map((i) => (counts(i) ? value(i) : elsewhere)),
});
const perRow = (values: readonly number[]): Feed => ({ shape: [rows, 1], values });
const scalar = (value: number): Feed => ({ shape: [], values: [value] });

function parameterFeeds(values: readonly number[]): Record<string, Feed> {
	let offset = 0;
	return Object.fromEntries(
		specs.map(({ name, shape }) => {
			const start = offset;
			offset += elementCount(shape);
			return [name, { shape, values: values.slice(start, offset) }];
		}),
	);
}

const gradientOf = (result: Record<string, number[]>) => specs.flatMap(({ name }) => result[gradientName(name)] ?? []);
const sft = await Program.compile(gradientProgram(tinyShape, { kind: 'sft' }, 'float64'));
const weighed = (coefficients: readonly number[]) =>
	sft.run({
		...parameterFeeds(flat),
		...text,
		weights: { shape: [rows, tokens], values: coefficients.map((c) => -c) },
	});
/** Log-probabilities under the test's parameters. */
const logprobs = (await weighed(everywhere.map(() => 0))).logprobs as number[];

/** A loss and its derivative with respect to each log-probability. */
interface Formula {
	readonly loss: number;
	readonly coefficients: readonly number[];
}

interface Case {
	readonly variant: GradientVariant;
	readonly note?: string;
	readonly inputs: Readonly<Record<string, Feed>>;
	readonly formula: Formula;
	/** Whether to compare with finite differences; false if part of the loss is detached. */
	readonly differences?: boolean;
}

const low = 0.8;
const high = 1.28;
const bounds = { 'ratio low': scalar(low), 'ratio high': scalar(high) };
/** Ratios that cycle below, within and above the bounds. */
const ratios = [0.6, 0.95, 1.1, 1.6];
const clamp = (ratio: number) => Math.min(Math.max(ratio, low), high);
/** -min(ratio A, clip(ratio) A) and its derivative with respect to the log ratio. */
const clipped = (ratio: number, advantage: number) => {
	const [free, bound] = [ratio * advantage, clamp(ratio) * advantage];
	return { loss: -Math.min(free, bound), slope: free <= bound ? -free : 0 };
};

const rowAdvantages = [1.1, -0.8, -0.4, 0.9];

function rloo(old: boolean, weights: readonly number[]): Case {
	// The row's ratio is spread over its tokens.
	const length = (row: number) => everywhere.filter((i) => rowOf(i) === row && counts(i)).length;
	const ratioOf = (row: number) => (old ? (ratios[row] as number) : 1);
	const perRowLoss = rowAdvantages.map((a, row) => clipped(ratioOf(row), a));
	return {
		variant: { kind: 'rloo', old },
		note: `rows ${weights.join(', ')}`,
		inputs: {
			weights: perToken((i) => (weights[rowOf(i)] === 0 ? 0 : 1)),
			'row weights': perRow(weights),
			advantages: perRow(rowAdvantages),
			...(old
				? {
						...bounds,
						'old logprobs': perToken(
							(i) => (logprobs[i] as number) - Math.log(ratioOf(rowOf(i))) / length(rowOf(i)),
							1e3,
						),
					}
				: {}),
		},
		formula: {
			loss: weights.reduce((sum, w, row) => sum + w * (perRowLoss[row]?.loss as number), 0),
			coefficients: everywhere.map((i) =>
				counts(i) ? (weights[rowOf(i)] as number) * (perRowLoss[rowOf(i)]?.slope as number) : 0,
			),
		},
		differences: old,
	};
}

function dpo(margins: readonly [number, number], beta: number): Case {
	const weight = 0.5;
	const sums = [0, 1, 2, 3].map((row) =>
		everywhere.reduce((sum, i) => sum + (rowOf(i) === row && counts(i) ? (logprobs[i] as number) : 0), 0),
	);
	// Choose references such that the implicit rewards of each pair differ by its margin.
	const rewards = [0.3, 0.3 - margins[0], -0.2, -0.2 - margins[1]];
	const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
	return {
		variant: { kind: 'dpo' },
		note: `margins ${margins.join(', ')}`,
		inputs: {
			weights: perToken(() => 1),
			'reference logprobs': perRow(sums.map((sum, row) => sum - (rewards[row] as number) / beta)),
			beta: scalar(beta),
			'pair weight': scalar(weight),
		},
		formula: {
			loss: -weight * margins.reduce((sum, margin) => sum + Math.log(sigmoid(margin)), 0),
			coefficients: everywhere.map((i) => {
				if (!counts(i)) return 0;
				const row = rowOf(i);
				const slope = weight * beta * sigmoid(-(margins[row >> 1] as number));
				return row % 2 === 0 ? -slope : slope;
			}),
		},
	};
}

function ppo(old: boolean): Case {
	const weight = 0.07;
	const advantages = everywhere.map((i) => Math.sin(3 * i + 1) * 1.5);
	const ratioOf = (i: number) => (old ? (ratios[(i + rowOf(i)) % 4] as number) : 1);
	const losses = everywhere.map((i) => clipped(ratioOf(i), advantages[i] as number));
	return {
		variant: { kind: 'ppo', old },
		inputs: {
			weights: perToken(() => weight),
			advantages: perToken((i) => advantages[i] as number, 1e3),
			...(old
				? { ...bounds, 'old logprobs': perToken((i) => (logprobs[i] as number) - Math.log(ratioOf(i)), 1e3) }
				: {}),
		},
		formula: {
			loss: everywhere.reduce((sum, i) => sum + (counts(i) ? weight * (losses[i]?.loss as number) : 0), 0),
			coefficients: everywhere.map((i) => (counts(i) ? weight * (losses[i]?.slope as number) : 0)),
		},
		differences: old,
	};
}

/**
 * Row 2 is masked: its weights are 0.
 * @param selected whether every third token has no surrogate loss and some tokens have a penalty
 * @param episodes whether every third token comes from an environment, so its weight is 0 and its other inputs are
 * arbitrary
 */
function grpo(changes: Partial<Objective>, selected = false, episodes = false): Case {
	const objective: Objective = { ...defaultObjective, epsilonHigh: 0.28, ...changes };
	const corrects = objective.samplerCorrection !== null;
	const inputs = { old: true, factors: selected || corrects, penalties: selected, sampler: corrects };
	const variant = policyVariant(objective, inputs);
	const weight = 0.07;
	const trained = (i: number) => counts(i) && !(episodes && (i % tokens) % 3 === 1);
	const counted = (i: number) => trained(i) && rowOf(i) !== 2;
	const old = (i: number) => (logprobs[i] as number) - Math.log(ratios[(i + rowOf(i)) % 4] as number);
	const reference = (i: number) => (logprobs[i] as number) + Math.sin(2 * i);
	const factor = (i: number) => Number(i % 3 !== 1);
	const penalty = (i: number) => (i % 2) * 0.25;
	const sampler = (i: number) => old(i) + 0.4 * Math.sin(5 * i);
	const own = (row: number) => everywhere.filter((i) => rowOf(i) === row && trained(i));
	const samplers = rowAdvantages.map((_, row) =>
		samplerRow({ oldLogprobs: own(row).map(old), samplerLogprobs: own(row).map(sampler) }, objective),
	);
	const losses = rowAdvantages.map((advantage, row) => {
		const values = {
			logprobs: own(row).map((i) => logprobs[i] as number),
			oldLogprobs: own(row).map(old),
			refLogprobs: own(row).map(reference),
		};
		const factors = selected ? own(row).map(factor) : null;
		const penalties = selected ? own(row).map(penalty) : null;
		return rowLoss({ ...values, ...samplers[row], advantage, factors, penalties }, objective);
	});
	const placeOf = (i: number) => own(rowOf(i)).indexOf(i);
	const ratioAt = (i: number) => (trained(i) ? (samplers[rowOf(i)]?.samplerRatios?.[placeOf(i)] ?? 1) : 1);
	const weightAt = (i: number) => (selected ? factor(i) : 1) * ratioAt(i);
	const valueAt = (i: number, part: 'losses' | 'gradients') =>
		counted(i) ? weight * (losses[rowOf(i)]?.[part][placeOf(i)] as number) : 0;
	const scalars = Object.entries(policyScalars(objective, variant)).map(([name, value]) => [name, scalar(value)]);
	return {
		variant,
		...(episodes ? { note: `episodes, ${objective.level}` } : {}),
		inputs: {
			weights: perToken((i) => (counted(i) ? weight : 0)),
			advantages: inputs.factors
				? perToken((i) => weightAt(i) * (rowAdvantages[rowOf(i)] as number))
				: perRow(rowAdvantages),
			...(variant.samplerRatio
				? { 'sampler log ratio': perRow(samplers.map((one) => one.samplerLogRatio as number)) }
				: {}),
			...(variant.samplerDrift ? { 'sampler drift': perRow(samplers.map((one) => one.samplerDrift as number)) } : {}),
			...(selected ? { penalties: perToken(penalty) } : {}),
			'old logprobs': perToken((i) => (trained(i) ? old(i) : 1e3), 1e3),
			...(variant.kl ? { 'reference logprobs': perToken((i) => (trained(i) ? reference(i) : 1e3), 1e3) } : {}),
			...Object.fromEntries(scalars),
		},
		formula: {
			loss: everywhere.reduce((sum, i) => sum + valueAt(i, 'losses'), 0),
			coefficients: everywhere.map((i) => valueAt(i, 'gradients')),
		},
		differences:
			!['cispo', 'vespo', 'dppo_tv', 'dppo_kl'].includes(objective.lossType) &&
			objective.level !== 'sequence_token' &&
			objective.offPolicyThreshold === null,
	};
}

const even = [0.25, 0.25, 0.25, 0.25];
const cases: readonly Case[] = [
	grpo({ beta: 0.1 }),
	grpo({ delta: 1.4, offPolicyThreshold: 0.01 }),
	grpo({ level: 'sequence', beta: 0.1, unbiasedKl: true, epsilonLow: 0.02 }),
	grpo({ level: 'sequence_token', epsilonLow: 0.02 }),
	grpo({ lossType: 'cispo', epsilonHigh: 1.2 }),
	grpo({ lossType: 'sapo', beta: 0.1 }),
	grpo({ lossType: 'sapo', level: 'sequence' }),
	grpo({ lossType: 'vespo' }),
	grpo({ lossType: 'gmpo', epsilonLow: 0.2, beta: 0.1 }),
	grpo({ lossType: 'dppo_tv', epsilonLow: 0.01, epsilonHigh: 0.02, beta: 0.1 }),
	grpo({ lossType: 'dppo_kl', epsilonLow: 0.001, epsilonHigh: 0.001 }, true),
	grpo({ beta: 0.1 }, true),
	grpo({ level: 'sequence', epsilonLow: 0.02, offPolicyThreshold: 0.01 }, true),
	...(['cispo', 'sapo', 'vespo'] as const).map((lossType) => grpo({ lossType, epsilonHigh: 1.2 }, true)),
	grpo({ beta: 0.1 }, false, true),
	grpo({ beta: 0.1 }, true, true),
	grpo({ level: 'sequence', beta: 0.1, unbiasedKl: true, epsilonLow: 0.02, offPolicyThreshold: 0.01 }, false, true),
	...(['cispo', 'sapo', 'vespo', 'gmpo', 'dppo_kl'] as const).map((lossType) => grpo({ lossType }, false, true)),
	grpo({ beta: 0.1, samplerCorrection: { mode: 'token_truncate', min: null, max: 1.2 } }),
	grpo({ level: 'sequence', epsilonLow: 0.02, samplerCorrection: { mode: 'token_mask', min: 0.8, max: 1.2 } }),
	grpo({ offPolicyThreshold: 0.01, samplerCorrection: { mode: 'sequence_truncate', min: 0.9, max: 3 } }, true, true),
	grpo({ lossType: 'vespo', samplerCorrection: { mode: 'token_truncate', min: 0.8, max: 1.2 } }),
	rloo(false, even),
	rloo(true, even),
	rloo(true, [0.3, 0, 0.3, 0.3]),
	ppo(false),
	ppo(true),
	dpo([0, 0], 0.1),
	dpo([1.4, -2.3], 0.5),
];

/** Returns the indices of a few random elements of each parameter. */
function placesOfEach(count: number): number[] {
	let offset = 0;
	return specs.flatMap(({ shape }) => {
		const size = elementCount(shape);
		offset += size;
		return somePlaces(size, count, random).map((i) => offset - size + i);
	});
}

for (const { variant, note, inputs, formula, differences } of cases) {
	test(`${variantName(variant)}: loss and gradient match the formula${note ? ` (${note})` : ''}`, async () => {
		const program = await Program.compile(gradientProgram(tinyShape, variant, 'float64'));
		const at = (values: readonly number[]) => program.run({ ...parameterFeeds(values), ...text, ...inputs });
		const result = await at(flat);
		const gradient = gradientOf(result);
		assert.ok(Math.abs((result.loss?.[0] as number) - formula.loss) < 1e-11, `${result.loss?.[0]} ${formula.loss}`);
		const expected = gradientOf(await weighed(formula.coefficients));
		const largest = expected.reduce((n, x) => Math.max(n, Math.abs(x)), 0);
		assert.ok(largest > 1e-3);
		assert.ok(distance(gradient, expected) < 1e-10 * largest, `${distance(gradient, expected) / largest}`);
		if (differences !== false) {
			// One element of each parameter, because the comparison with the formula covers all elements.
			const error = await differenceError(
				flat,
				gradient,
				placesOfEach(1),
				async (x) => (await at(x)).loss?.[0] as number,
			);
			assert.ok(error < 1e-5, `relative error ${error}`);
		}
		// Training runs in single precision, with the runtime's own operators.
		const single = await Program.compile(gradientProgram(tinyShape, variant));
		const rounded = gradientOf(await single.run({ ...parameterFeeds(flat), ...text, ...inputs }));
		assert.ok(distance(rounded, gradient) < 1e-5 * largest, `${distance(rounded, gradient) / largest}`);
	});
}

test('environment tokens are predicted: the loss is the weighted sum, and its gradient matches finite differences', async () => {
	const variant = policyVariant(defaultObjective, { old: false, observations: true });
	const program = await Program.compile(gradientProgram(tinyShape, variant, 'float64'));
	const observed = everywhere.map((i) => Number(counts(i) && (i % tokens) % 3 === 1));
	const byRow = rowAdvantages.map((_, row) => observed.slice(row * tokens, row * tokens + (lengths[row] as number)));
	const weights = observationWeights(
		byRow.map((own) => ({ observed: own })),
		0.05,
	);
	const at = (i: number) => weights[rowOf(i)]?.[i % tokens] as number;
	const run = (values: readonly number[]) =>
		program.run({
			...parameterFeeds(values),
			...text,
			weights: perToken((i) => (observed[i] === 1 ? 0 : 0.07)),
			advantages: perRow([0, 0, 0, 0]),
			'observation weights': perToken(at),
		});
	const result = await run(flat);
	const surprise = observationSurprise(
		byRow.map((own, row) => ({ observed: own, logprobs: logprobs.slice(row * tokens, (row + 1) * tokens) })),
	);
	assert.ok(surprise !== null && surprise > 0.1);
	assert.ok(Math.abs((result.loss?.[0] as number) - 0.05 * surprise) < 1e-8, `${result.loss?.[0]}`);
	const lossAt = async (values: readonly number[]) => (await run(values)).loss?.[0] as number;
	const error = await differenceError(flat, gradientOf(result), placesOfEach(2), lossAt);
	assert.ok(error < 1e-5, `${error}`);
});

test('the entropy bonus is the weighted sum of the entropies, and its gradient matches finite differences', async () => {
	const variant = policyVariant(defaultObjective, { old: false, entropy: true });
	const program = await Program.compile(gradientProgram(tinyShape, variant, 'float64'));
	const bonusAt = (i: number) => 0.1 + 0.02 * (i % 5);
	const feeds = (weight: number) => ({
		...text,
		weights: perToken(() => 0.07),
		advantages: perRow(rowAdvantages),
		'entropy weights': perToken((i) => weight * bonusAt(i)),
	});
	const run = (values: readonly number[], weight: number) =>
		program.run({ ...parameterFeeds(values), ...feeds(weight) });
	const [plain, rewarded] = [await run(flat, 0), await run(flat, 1)];
	const entropies = rewarded.entropies as number[];
	assert.ok(everywhere.some((i) => counts(i) && (entropies[i] as number) > 0.1));
	const bonus = everywhere.reduce((sum, i) => sum + (counts(i) ? bonusAt(i) * (entropies[i] as number) : 0), 0);
	assert.ok(Math.abs((plain.loss?.[0] as number) - bonus - (rewarded.loss?.[0] as number)) < 1e-12);
	// Without old log-probabilities, the value of every ratio is 1, so only the bonus changes with the parameters.
	const difference = gradientOf(rewarded).map((value, i) => value - (gradientOf(plain)[i] as number));
	const lossAt = async (values: readonly number[]) => (await run(values, 1)).loss?.[0] as number;
	const error = await differenceError(flat, difference, placesOfEach(2), lossAt);
	assert.ok(error < 1e-5, `${error}`);
});
