import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { pack } from '../../../../src/engines/embedded/compute/packing.ts';
import type { Sequence } from '../../../../src/engines/embedded/learner.ts';
import { distillLoss, divergenceOf } from '../../../../src/engines/embedded/model/losses.ts';
import { elementCount, initialParameters, parameterSpecs } from '../../../../src/engines/embedded/model/parameters.ts';
import {
	type GradientVariant,
	gradientName,
	gradientProgram,
} from '../../../../src/engines/embedded/model/programs.ts';
import { Graph } from '../../../../src/engines/embedded/onnx/graph.ts';
import {
	differenceError,
	distance,
	type Feed,
	normals,
	Program,
	packedFeeds,
	sharingRows,
	somePlaces,
	tinyShape,
} from './computeHarness.ts';

/** Compares gradients with finite differences of the whole model, in double precision. */

const sequences = sharingRows;
const rows = sequences.length;
const completionLength = (row: number): number => {
	const { tokens: all, promptLength } = sequences[row] as Sequence;
	return all.length - promptLength;
};
/** Length of the longest completion. */
const tokens = Math.max(...sequences.map((_, row) => completionLength(row)));
const text = packedFeeds(sequences);

/** Weight of each completion token per `loss_type`. */
const weightings = {
	/** grpo: mean over rows of the mean over the row's tokens */
	grpo: (row: number) => 1 / rows / completionLength(row),
	/** dapo and bnpo: mean over all tokens */
	dapo: () => 1 / sequences.reduce((n, _, row) => n + completionLength(row), 0),
	/** dr_grpo: sum divided by the number of rows times the maximum completion length */
	dr_grpo: () => 1 / (rows * tokens),
	/** masked: row 1 is truncated, so its weights are 0 */
	masked: (row: number) => (row === 1 ? 0 : 1 / 10),
} as const;

function perToken(value: (row: number, token: number) => number, elsewhere: number): Feed {
	const values = Array.from({ length: rows * tokens }, (_, i) => {
		const row = Math.floor(i / tokens);
		const token = i % tokens;
		return token < completionLength(row) ? value(row, token) : elsewhere;
	});
	return { shape: [rows, tokens], values };
}

/** Variants checked here; policyGradients.test.ts covers the rest. */
type Checked = Extract<GradientVariant, { kind: 'sft' | 'grpo' | 'distill' }>;

interface Check {
	readonly variant: Checked;
	readonly weighting: keyof typeof weightings;
	readonly temperature?: number;
}

const grpo = (old: boolean, kl: boolean): Checked => ({ kind: 'grpo', old, kl });
const checks: readonly Check[] = [
	{ variant: { kind: 'sft' }, weighting: 'dapo' },
	{ variant: { kind: 'sft' }, weighting: 'grpo', temperature: 0.7 },
	{ variant: grpo(false, false), weighting: 'dapo' },
	{ variant: grpo(false, true), weighting: 'grpo' },
	{ variant: grpo(true, false), weighting: 'dr_grpo' },
	{ variant: grpo(true, true), weighting: 'dapo' },
	{ variant: grpo(true, true), weighting: 'grpo' },
	{ variant: grpo(true, true), weighting: 'masked', temperature: 1.3 },
	{ variant: { kind: 'distill' }, weighting: 'dapo' },
	{ variant: { kind: 'distill' }, weighting: 'grpo', temperature: 2.5 },
];

const specs = parameterSpecs(tinyShape);

function parameterFeeds(flat: readonly number[]): Record<string, Feed> {
	let offset = 0;
	return Object.fromEntries(
		specs.map(({ name, shape }) => {
			const end = offset + elementCount(shape);
			const feed: Feed = { shape, values: flat.slice(offset, end) };
			offset = end;
			return [name, feed];
		}),
	);
}

for (const [index, { variant, weighting, temperature = 1 }] of checks.entries()) {
	const name =
		variant.kind !== 'grpo'
			? variant.kind
			: `grpo, ${variant.old ? 'clipped ratios to old' : 'first update'}, ${variant.kl ? 'with' : 'without'} KL`;
	test(`gradient of ${name}, ${weighting} weights, temperature ${temperature}`, async () => {
		const random = Random.of('gradients', 5);
		// Larger than the initial weights so that every path matters.
		const flat = Array.from(initialParameters(tinyShape, 3), (x) => x + 0.3 * random.normal());
		const inputs: Record<string, Feed> = {
			...text,
			'inverse temperature': { shape: [], values: [1 / temperature] },
			weights: perToken(weightings[weighting], 0),
		};
		const program = await Program.compile(gradientProgram(tinyShape, variant, 'float64'));
		if (variant.kind === 'grpo') {
			inputs.advantages = { shape: [rows, 1], values: [1.1, -0.8, -0.4, 0.7, -1.2] };
			const probe = await Program.compile(gradientProgram(tinyShape, { kind: 'sft' }, 'float64'));
			const { logprobs } = await probe.run({ ...parameterFeeds(flat), ...sftInputs(inputs) });
			const now = (row: number, token: number) => logprobs?.[row * tokens + token] as number;
			const low = 0.8;
			const high = 1.28;
			if (variant.old) {
				// Cycle through ratios below, within and above the bounds, for advantages of both signs.
				const ratios = [0.6, 0.95, 1.1, 1.6];
				inputs['old logprobs'] = perToken((r, t) => now(r, t) - Math.log(ratios[(r + t) % 4] as number), 1e3);
				inputs['ratio low'] = { shape: [], values: [low] };
				inputs['ratio high'] = { shape: [], values: [high] };
			}
			if (variant.kl) {
				const noise = normals(random, rows * tokens, 0.4);
				inputs['reference logprobs'] = perToken((r, t) => now(r, t) + (noise[r * tokens + t] as number), 1e3);
				inputs.beta = { shape: [], values: [0.3] };
			}
		}
		if (variant.kind === 'distill') Object.assign(inputs, teacherInputs(temperature));
		// On a first update the denominator of the ratio is the detached log-probabilities, so finite differences must hold
		// them fixed.
		const run = variant.kind === 'grpo' && !variant.old ? await frozenRatio(variant, flat, inputs) : undefined;
		const result = await program.run({ ...parameterFeeds(flat), ...inputs });
		const gradient = specs.flatMap((spec) => result[gradientName(spec.name)] as number[]);
		assert.equal(gradient.length, flat.length);
		const loss = async (changed: readonly number[]) =>
			run ? run(changed) : ((await program.run({ ...parameterFeeds(changed), ...inputs })).loss?.[0] as number);
		if (run) assert.ok(Math.abs((result.loss?.[0] as number) - (await loss(flat))) < 1e-12);
		// Each check compares other elements, so that together they cover many of each parameter.
		const own = Random.of('places', index);
		let offset = 0;
		const places = specs.flatMap((spec) => {
			const size = elementCount(spec.shape);
			const some = somePlaces(size, 3, own).map((i) => offset + i);
			offset += size;
			return some;
		});
		const error = await differenceError(flat, gradient, places, loss);
		assert.ok(error < 1e-5, `relative error ${error}`);
		assert.ok(gradient.some((x) => Math.abs(x) > 1e-3));
		// Training runs in single precision, with the runtime's own operators.
		const single = await Program.compile(gradientProgram(tinyShape, variant));
		const rounded = await single.run({ ...parameterFeeds(flat), ...inputs });
		const largest = gradient.reduce((n, x) => Math.max(n, Math.abs(x)), 0);
		const singles = specs.flatMap((spec) => rounded[gradientName(spec.name)] as number[]);
		assert.ok(distance(singles, gradient) < 1e-5 * largest, `${distance(singles, gradient) / largest}`);
	});
}

const alpha = 0.3;
/** Number of distinct completion prefixes plus one for padding, and the position of each row's tokens among them. */
const { own: ownPlaces, places } = pack(sequences);

/** Softened teacher distributions and the weights of the divergence and token losses. */
function teacherInputs(temperature: number): Record<string, Feed> {
	const random = Random.of('teacher', 1);
	const values: number[] = [];
	for (let place = 0; place < ownPlaces; place++) {
		values.push(...logSoftmaxOf(normals(random, tinyShape.vocabulary, 2).map((logit) => logit / temperature)));
	}
	return {
		teacher: { shape: [ownPlaces, tinyShape.vocabulary], values },
		soft: { shape: [], values: [(1 - alpha) * temperature ** 2] },
		hard: { shape: [], values: [alpha] },
	};
}

function logSoftmaxOf(logits: readonly number[]): number[] {
	const normalizer = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
	return logits.map((logit) => logit - normalizer);
}

test('the distillation loss matches its formula', async () => {
	const temperature = 2.5;
	const random = Random.of('gradients', 5);
	const flat = Array.from(initialParameters(tinyShape, 3), (x) => x + 0.3 * random.normal());
	const targets = text.targets?.values as readonly number[];
	const student = await Program.compile(gradientProgram(tinyShape, { kind: 'sft' }, 'float64'));
	const v = tinyShape.vocabulary;
	/**
	 * Computes the log-probability of every token at every position. The program returns only that of the target, so it
	 * runs once for each token.
	 */
	const at = async (divisor: number): Promise<number[]> => {
		const whole = new Array<number>(rows * tokens * v);
		for (let token = 0; token < v; token++) {
			const { logprobs = [] } = await student.run({
				...parameterFeeds(flat),
				...text,
				targets: { shape: [rows, tokens], values: new Array(rows * tokens).fill(token), type: 'int32' },
				weights: perToken(() => 1, 0),
				'inverse temperature': { shape: [], values: [1 / divisor] },
			});
			for (const [place, logprob] of logprobs.entries()) whole[place * v + token] = logprob;
		}
		return whole;
	};
	const [softened, plain] = [await at(temperature), await at(1)];
	const weights = perToken(weightings.dapo, 0);
	const { teacher } = teacherInputs(temperature) as { readonly teacher: Feed };
	let expected = 0;
	for (const [place, weight] of weights.values.entries()) {
		let divergence = 0;
		for (let token = 0; token < v; token++) {
			const log = teacher.values[(places[place] as number) * v + token] as number;
			divergence += Math.exp(log) * (log - (softened[place * v + token] as number));
		}
		const logprob = plain[place * v + (targets[place] as number)] as number;
		expected += weight * ((1 - alpha) * temperature ** 2 * divergence - alpha * logprob);
	}
	const program = await Program.compile(gradientProgram(tinyShape, { kind: 'distill' }, 'float64'));
	const { loss } = await program.run({
		...parameterFeeds(flat),
		...text,
		...teacherInputs(temperature),
		weights,
		'inverse temperature': { shape: [], values: [1 / temperature] },
	});
	assert.ok(expected > 0.1);
	assert.ok(Math.abs((loss?.[0] as number) - expected) < 1e-12, `${loss?.[0]} ${expected}`);
});

test('the divergence of two known distributions is exact', async () => {
	const graph = new Graph('float64');
	const input = (name: string, shape: (string | number)[]) => graph.input(name, shape);
	const loss = distillLoss(input('logprobs', [1, 2]), {
		divergence: divergenceOf(input('student', [1, 2, 2]), input('teacher', [1, 2, 2])),
		weights: input('weights', [1, 2]),
		soft: input('soft', []),
		hard: input('hard', []),
	});
	graph.output('loss', loss);
	const program = await Program.compile(graph);
	const run = async (soft: number, hard: number) =>
		(
			await program.run({
				logprobs: { shape: [1, 2], values: [Math.log(0.9), Math.log(0.25)] },
				student: { shape: [1, 2, 2], values: [0.9, 0.1, 0.25, 0.75].map(Math.log) },
				teacher: { shape: [1, 2, 2], values: [0.5, 0.5, 0.25, 0.75].map(Math.log) },
				weights: { shape: [1, 2], values: [1, 1] },
				soft: { shape: [], values: [soft] },
				hard: { shape: [], values: [hard] },
			})
		).loss?.[0] as number;
	// 0.5 ln(5/9) + 0.5 ln 5, and 0 where both agree.
	assert.ok(Math.abs((await run(1, 0)) - 0.5108256237659907) < 1e-12);
	assert.ok(Math.abs((await run(0, 1)) - (0.10536051565782628 + 1.3862943611198906)) < 1e-12);
});

function sftInputs(inputs: Readonly<Record<string, Feed>>): Record<string, Feed> {
	const names = [...Object.keys(text), 'inverse temperature', 'weights'];
	return Object.fromEntries(names.map((name) => [name, inputs[name] as Feed]));
}

/**
 * Returns the first-update loss as a function of the parameters. The old log-probabilities stay fixed at their values
 * for `flat`.
 */
async function frozenRatio(
	variant: GradientVariant & { kind: 'grpo' },
	flat: readonly number[],
	inputs: Readonly<Record<string, Feed>>,
): Promise<(changed: readonly number[]) => Promise<number>> {
	const program = await Program.compile(gradientProgram(tinyShape, { ...variant, old: true }, 'float64'));
	const probe = await Program.compile(gradientProgram(tinyShape, { kind: 'sft' }, 'float64'));
	const { logprobs } = await probe.run({ ...parameterFeeds(flat), ...sftInputs(inputs) });
	const held: Record<string, Feed> = {
		...inputs,
		'old logprobs': { shape: [rows, tokens], values: logprobs as number[] },
		'ratio low': { shape: [], values: [0.8] },
		'ratio high': { shape: [], values: [1.28] },
	};
	return async (changed) => (await program.run({ ...parameterFeeds(changed), ...held })).loss?.[0] as number;
}

test('masked positions cannot turn the loss into NaN', async () => {
	const program = await Program.compile(gradientProgram(tinyShape, grpo(true, true), 'float64'));
	const flat = Array.from(initialParameters(tinyShape, 3));
	const result = await program.run({
		...parameterFeeds(flat),
		...text,
		'inverse temperature': { shape: [], values: [1] },
		weights: perToken(() => 0.1, 0),
		advantages: { shape: [rows, 1], values: [1, -1, 1, -1, 1] },
		'old logprobs': perToken(() => -2, -1e4),
		'reference logprobs': perToken(() => -2, 1e4),
		'ratio low': { shape: [], values: [0.8] },
		'ratio high': { shape: [], values: [1.2] },
		beta: { shape: [], values: [0.1] },
	});
	assert.ok(Number.isFinite(result.loss?.[0]));
	for (const { name } of specs) assert.ok((result[gradientName(name)] as number[]).every(Number.isFinite));
});
