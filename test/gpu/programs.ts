import type { Random } from '../../src/base/random.ts';
import { defaultObjective, type Objective } from '../../src/core/grpo/objective/objective.ts';
import { pad } from '../../src/engines/embedded/compute/batching.ts';
import type { GradientJob, PackedSequences, ValueGradientJob } from '../../src/engines/embedded/compute/jobs.ts';
import { pack } from '../../src/engines/embedded/compute/packing.ts';
import { parameterViews } from '../../src/engines/embedded/compute/parameterStore.ts';
import { ProgramFeeds } from '../../src/engines/embedded/compute/programFeeds.ts';
import type { Feeds, Tensor, Tensors } from '../../src/engines/embedded/compute/runtime.ts';
import type { Sequence } from '../../src/engines/embedded/learner.ts';
import {
	type AdamWScalars,
	adamWProgram,
	addProgram,
	fillProgram,
	flattenProgram,
	type GroupVector,
	groupName,
	transferProgram,
} from '../../src/engines/embedded/model/optimizerPrograms.ts';
import { type ParameterGroup, parameterGroups } from '../../src/engines/embedded/model/parameterGroups.ts';
import { initialParameters, initialValueParameters, specsOf } from '../../src/engines/embedded/model/parameters.ts';
import { policyScalars, policyVariant } from '../../src/engines/embedded/model/policyVariant.ts';
import {
	cacheName,
	decodeProgram,
	distributionProgram,
	type GradientVariant,
	gradientProgram,
	logprobsProgram,
	prefillProgram,
	type ValueVariant,
	valueGradientProgram,
	valuesProgram,
	variantName,
} from '../../src/engines/embedded/model/programs.ts';
import {
	cacheLayoutProgram,
	choiceOutputs,
	collectProgram,
	firstTokenProgram,
	holdProgram,
	positionProgram,
	residentDecodeProgram,
	stepName,
	uploadProgram,
} from '../../src/engines/embedded/model/residentPrograms.ts';
import type { Dialect } from '../../src/engines/embedded/onnx/dialect.ts';
import type { Graph } from '../../src/engines/embedded/onnx/graph.ts';
import type { ModelShape } from '../../src/engines/shared/modelShape.ts';

/** A program of the engine with inputs as a run would feed it. */
export interface ProgramCase {
	readonly name: string;
	readonly graph: Graph;
	readonly feeds: Feeds;
}

/** Every option of a GRPO loss, with values that take effect. */
const objective: Objective = {
	...defaultObjective,
	epsilonHigh: 0.28,
	beta: 0.04,
	delta: 1.4,
	offPolicyThreshold: 0.01,
};
const objectives: readonly Partial<Objective>[] = [
	{ level: 'sequence', unbiasedKl: true },
	{ level: 'sequence_token', delta: null },
	...(['cispo', 'sapo', 'vespo', 'gmpo', 'dppo_tv', 'dppo_kl'] as const).map((lossType) => ({ lossType, beta: 0 })),
];

export const gradientVariants: readonly GradientVariant[] = [
	{ kind: 'sft' },
	{ kind: 'distill' },
	...[false, true].flatMap((old) => [false, true].map((kl): GradientVariant => ({ kind: 'grpo', old, kl }))),
	...objectives.map((changes) => policyVariant({ ...objective, ...changes }, { old: true })),
	{ ...policyVariant(objective, { old: true, factors: true, entropy: true, penalties: true }) },
	...[false, true].map((old): GradientVariant => ({ kind: 'ppo', old })),
	...[false, true].map((old): GradientVariant => ({ kind: 'rloo', old })),
	{ kind: 'dpo' },
];

export const valueVariants: readonly ValueVariant[] = ['labels', 'pairs', 'returns'];

/** A small random model; sizes are odd multiples, so that no kernel can rely on powers of two. */
export function randomShape(random: Random): ModelShape {
	const heads = 1 + random.int(3);
	return {
		vocabulary: 7 + random.int(20),
		context: 16 + random.int(9),
		width: heads * 4 * (1 + random.int(3)),
		heads,
		layers: 1 + random.int(2),
		feedForward: 12 + random.int(24),
	};
}

/** Maximum number of tokens in a row. */
const rowTokens = 24;

/** Pairs of completions that share a prompt: of different lengths, some with a common prefix. */
function randomRows(shape: ModelShape, random: Random): Sequence[] {
	const token = () => random.int(shape.vocabulary);
	const some = (count: number) => Array.from({ length: count }, token);
	return Array.from({ length: 3 }, () => some(1 + random.int(6))).flatMap((prompt) => {
		const room = Math.min(shape.context, rowTokens) - prompt.length;
		const prefix = some(random.int(3));
		return [1, 2].map((): Sequence => {
			const rest = some(1 + random.int(room - prefix.length));
			return { tokens: [...prompt, ...prefix, ...rest], promptLength: prompt.length };
		});
	});
}

/** Every program of the engine, with random weights and inputs. */
export function programCases(
	shape: ModelShape,
	random: Random,
	{ tensors, dialect }: { readonly tensors: Tensors; readonly dialect: Dialect },
): ProgramCase[] {
	const feeds = new ProgramFeeds(shape, tensors, dialect);
	const normals = (count: number, scale = 1) => Float32Array.from({ length: count }, () => scale * random.normal());
	const uniform = (count: number) => Float32Array.from({ length: count }, () => random.next());
	const policy = initialParameters(shape, 1).map((x) => x + 0.1 * random.normal());
	const value = initialValueParameters(shape, policy).map((x) => x + 0.1 * random.normal());
	const policyFeeds = parameterViews(specsOf('policy', shape), policy, tensors);
	const valueFeeds = parameterViews(specsOf('value', shape), value, tensors);
	const rows = randomRows(shape, random);
	const batch = pack(rows);

	const gradientJob = (variant: GradientVariant): GradientJob => ({
		kind: 'gradient',
		weights: { slot: 'policy', version: 1, buffer: new SharedArrayBuffer(0) },
		variant,
		batch,
		temperature: 0.8,
		...gradientInputs(variant, batch, rows, random),
		gradient: new SharedArrayBuffer(0),
	});
	const teacher = (): Float32Array<ArrayBuffer> => logDistributions(normals(batch.own * shape.vocabulary), shape);

	const padded = pad(rows);
	const count = padded.rows * padded.tokens;
	const surprises = uniform(count);
	const valueJob = (variant: ValueVariant): ValueGradientJob => ({
		kind: 'value gradient',
		variant,
		weights: { slot: 'value', version: 1, buffer: new SharedArrayBuffer(0) },
		batch: padded,
		surprises,
		perToken: {
			weights: variant === 'pairs' ? lastTokens(rows, padded.tokens) : uniform(count),
			...(variant === 'labels' ? { labels: uniform(count) } : {}),
			...(variant === 'returns' ? { returns: normals(count), 'old values': normals(count) } : {}),
		},
		scalars: variant === 'pairs' ? { 'pair weight': 0.5 } : variant === 'returns' ? { 'clip range': 0.2 } : {},
		gradient: new SharedArrayBuffer(0),
	});

	const cases = [
		{ name: 'prefill', graph: prefillProgram(shape, dialect), feeds: feeds.prefill(promptsOf(rows)) },
		{ name: 'decode', graph: decodeProgram(shape, dialect), feeds: decodeFeeds(shape, tensors, random) },
		{
			name: 'resident decode',
			graph: residentDecodeProgram(shape, dialect, 'host'),
			feeds: residentFeeds(decodeFeeds(shape, tensors, random), tensors),
		},
		{ name: 'logprobs', graph: logprobsProgram(shape, dialect), feeds: feeds.logprobs({ batch, temperature: 0.8 }) },
		{
			name: 'distribution',
			graph: distributionProgram(shape, dialect),
			feeds: feeds.logprobs({ batch, temperature: 1.5 }),
		},
		...gradientVariants.map((variant) => ({
			name: `gradient ${variantName(variant)}`,
			graph: gradientProgram(shape, variant, 'float32', dialect),
			feeds: feeds.gradient(gradientJob(variant), variant.kind === 'distill' ? teacher() : null),
		})),
	].map((program) => ({ ...program, feeds: { ...policyFeeds, ...program.feeds } }));
	const valueCases = [
		...(['probability', 'score'] as const).map((output) => ({
			name: `values ${output}`,
			graph: valuesProgram(shape, output, dialect),
			feeds: feeds.values({ batch: padded, surprises }),
		})),
		...valueVariants.map((variant) => ({
			name: `value gradient ${variant}`,
			graph: valueGradientProgram(shape, 'float32', variant, dialect),
			feeds: feeds.valueGradient(valueJob(variant)),
		})),
	].map((program) => ({ ...program, feeds: { ...valueFeeds, ...program.feeds } }));
	const specs = specsOf('policy', shape);
	const groups = parameterGroups(specs);
	const resident = [
		{ name: 'upload', graph: uploadProgram(specs, dialect), feeds: policyFeeds },
		{
			name: 'cache layout',
			graph: cacheLayoutProgram(shape, dialect),
			feeds: layoutFeeds(decodeFeeds(shape, tensors, random), tensors),
		},
		{
			name: 'gradient by group',
			graph: gradientProgram(shape, { kind: 'sft' }, 'float32', dialect, groups),
			feeds: { ...policyFeeds, ...feeds.gradient(gradientJob({ kind: 'sft' }), null) },
		},
	];
	return [
		...cases,
		...valueCases,
		...resident,
		...samplingCases(shape, random, { tensors, dialect, policyFeeds }),
		...optimizerCases(groups, policyFeeds, random, { tensors, dialect }),
	];
}

/** Programs in which the device chooses tokens. */
function samplingCases(
	shape: ModelShape,
	random: Random,
	{
		tensors,
		dialect,
		policyFeeds,
	}: { readonly tensors: Tensors; readonly dialect: Dialect; readonly policyFeeds: Feeds },
): ProgramCase[] {
	const column = (values: Int32Array | Float32Array) =>
		values instanceof Int32Array
			? tensors.int32(values, [values.length, 1])
			: tensors.float(values, [values.length, 1]);
	const noise = (rows: number) => column(Float32Array.from({ length: rows }, () => random.next()));
	const inverse = tensors.float(Float32Array.of(1.25), []);
	const { positions, ...decode } = residentFeeds(decodeFeeds(shape, tensors, random), tensors);
	const rows = decode.tokens?.dims[0] as number;
	const ends = column(Int32Array.from({ length: rows }, (_, row) => (row === 0 ? 1 : 7)));
	const normals = (count: number) => Float32Array.from({ length: count }, () => random.normal());
	const logits = normals(3 * shape.vocabulary).map((x) => 2 * x);
	const first = {
		logits: tensors.float(logits, [3, shape.vocabulary]),
		source: tensors.int32(Int32Array.of(0, 2, 2, 1, 0), [5]),
		noise: noise(5),
		'inverse temperature': inverse,
	};
	const byDevice = {
		'position embeddings': tensors.float(normals(rows * shape.width), [rows, 1, shape.width]),
		'scaled norm': tensors.float(normals(shape.width), [shape.width]),
	};
	const steps = [0, 1, 2].flatMap((step) =>
		choiceOutputs.map((name): [string, Tensor] => {
			const chosen = () => Int32Array.from({ length: rows }, () => random.int(shape.vocabulary));
			const uniform = Float32Array.from({ length: rows * shape.vocabulary }, () => random.next() / 2);
			return [
				stepName(name, step),
				name === 'tokens' ? column(chosen()) : tensors.float(uniform, [rows, shape.vocabulary]),
			];
		}),
	);
	return [
		...(['random', 'greedy'] as const).flatMap((choice) => [
			{ name: `first token, ${choice}`, graph: firstTokenProgram(shape, dialect, choice), feeds: first },
			{
				name: `resident decode, ${choice}`,
				graph: residentDecodeProgram(shape, dialect, choice),
				feeds: { ...policyFeeds, ...decode, ...byDevice, noise: noise(rows) },
			},
		]),
		{
			name: 'hold',
			graph: holdProgram(shape, dialect),
			feeds: {
				tokens: decode.tokens as Tensor,
				positions: positions as Tensor,
				ends,
				norm: policyFeeds.norm as Tensor,
				'inverse temperature': inverse,
			},
		},
		...[1, 3].map((steps) => ({
			name: `position embeddings of ${steps}`,
			graph: positionProgram(shape, steps, dialect),
			feeds: {
				positions: positions as Tensor,
				taken: tensors.int32(Int32Array.of(2), []),
				ends,
				'embedding.positions': policyFeeds['embedding.positions'] as Tensor,
			},
		})),
		{ name: 'collect', graph: collectProgram(shape, 3, dialect), feeds: Object.fromEntries(steps) },
	];
}

/** Programs of the optimizer. */
function optimizerCases(
	groups: readonly ParameterGroup[],
	policyFeeds: Feeds,
	random: Random,
	{ tensors, dialect }: { readonly tensors: Tensors; readonly dialect: Dialect },
): ProgramCase[] {
	const vectors = (name: GroupVector, value: () => number): Feeds =>
		Object.fromEntries(
			groups.map(({ size }, i) => [
				groupName(name, i),
				tensors.float(Float32Array.from({ length: size }, value), [size]),
			]),
		);
	const scalars: AdamWScalars = {
		'max norm': 1,
		beta1: 0.9,
		'gradient share': 0.1,
		beta2: 0.98,
		'square share': 0.02,
		keep: 0.999,
		'step size': 0.02,
		'inverse root': 3,
		epsilon: 1e-8,
	};
	const normal = () => random.normal();
	return [
		{ name: 'flatten', graph: flattenProgram(groups, dialect), feeds: policyFeeds },
		{ name: 'fill', graph: fillProgram(groups, dialect), feeds: { value: tensors.float(Float32Array.of(3), [1]) } },
		{ name: 'transfer', graph: transferProgram(groups, 'sum', dialect), feeds: vectors('sum', normal) },
		{
			name: 'add',
			graph: addProgram(groups, dialect),
			feeds: { ...vectors('sum', normal), ...vectors('gradient', normal) },
		},
		{
			name: 'AdamW',
			graph: adamWProgram(groups, dialect),
			feeds: {
				...vectors('weights', normal),
				...vectors('first', normal),
				...vectors('second', () => random.next()),
				...vectors('sum', normal),
				...Object.fromEntries(
					Object.entries(scalars).map(([name, value]) => [name, tensors.float(Float32Array.of(value), [])]),
				),
			},
		},
	];
}

function promptsOf(rows: readonly Sequence[]): Int32Array[] {
	return rows.map(({ tokens, promptLength }) => Int32Array.from(tokens.slice(0, promptLength)));
}

/** log softmax of each row of [n, vocabulary]. */
function logDistributions(logits: Float32Array<ArrayBuffer>, { vocabulary }: ModelShape): Float32Array<ArrayBuffer> {
	for (let start = 0; start < logits.length; start += vocabulary) {
		const row = logits.subarray(start, start + vocabulary);
		const sum = Math.log(row.reduce((n, x) => n + Math.exp(x), 0));
		for (let v = 0; v < vocabulary; v++) row[v] = (row[v] as number) - sum;
	}
	return logits;
}

/** 1 after the last token of a row, otherwise 0. */
function lastTokens(rows: readonly Sequence[], tokens: number): Float32Array<ArrayBuffer> {
	const places = new Float32Array(rows.length * tokens);
	for (const [r, row] of rows.entries()) places[r * tokens + row.tokens.length - 1] = 1;
	return places;
}

/** The inputs of a variant, except the tokens. */
function gradientInputs(
	variant: GradientVariant,
	{ rows: count, kept }: PackedSequences,
	rows: readonly Sequence[],
	random: Random,
): Pick<GradientJob, 'perToken' | 'perRow' | 'scalars'> {
	const counts = (i: number) => {
		const row = rows[Math.floor(i / kept)] as Sequence;
		return i % kept < row.tokens.length - row.promptLength;
	};
	const perToken = (value: () => number) =>
		Float32Array.from({ length: count * kept }, (_, i) => (counts(i) ? value() : 0));
	const perRow = (value: () => number) => Float32Array.from({ length: count }, value);
	const normal = () => random.normal();
	const logprob = () => -3 * random.next();
	const old = 'old' in variant && variant.old;
	const ones = variant.kind === 'rloo' || variant.kind === 'dpo';
	return {
		perToken: {
			weights: perToken(ones ? () => 1 : () => random.next()),
			...(old ? { 'old logprobs': perToken(logprob) } : {}),
			...(variant.kind === 'ppo' || ('perToken' in variant && variant.perToken)
				? { advantages: perToken(normal) }
				: {}),
			...('penalties' in variant && variant.penalties ? { penalties: perToken(() => random.next()) } : {}),
			...('entropy' in variant && variant.entropy ? { 'entropy weights': perToken(() => random.next()) } : {}),
			...(variant.kind === 'grpo' && variant.kl ? { 'reference logprobs': perToken(logprob) } : {}),
		},
		perRow: {
			...((variant.kind === 'grpo' && !variant.perToken) || variant.kind === 'rloo'
				? { advantages: perRow(normal) }
				: {}),
			...(variant.kind === 'rloo' ? { 'row weights': perRow(() => random.next()) } : {}),
			...(variant.kind === 'dpo' ? { 'reference logprobs': perRow(() => -10 * random.next()) } : {}),
		},
		scalars: {
			...(variant.kind === 'grpo' ? policyScalars(objective, variant) : {}),
			...(old && variant.kind !== 'grpo' ? { 'ratio low': 0.8, 'ratio high': 1.28 } : {}),
			...(variant.kind === 'distill' ? { soft: 0.7, hard: 0.3 } : {}),
			...(variant.kind === 'dpo' ? { beta: 0.1, 'pair weight': 0.5 } : {}),
		},
	};
}

/** The same for programs that append to the cache, with a mask that has room for more slots than they add. */
function residentFeeds({ mask, ...feeds }: Feeds, tensors: Tensors): Feeds {
	const { dims, data } = mask as Tensor;
	const [rows, , , slots] = dims as [number, number, number, number];
	const values = Float32Array.from({ length: rows * (slots + 3) }, (_, i) => {
		const [row, slot] = [Math.floor(i / (slots + 3)), i % (slots + 3)];
		return slot < slots ? (data[row * slots + slot] as number) : 0;
	});
	return {
		...feeds,
		mask: tensors.float(values, [rows, 1, 1, slots + 3]),
		after: tensors.int64(BigInt64Array.of(BigInt(slots + 1)), [1]),
	};
}

/** Omits, repeats and moves rows. */
function layoutFeeds({ mask, tokens, positions, ...cache }: Feeds, tensors: Tensors): Feeds {
	const room = 11;
	return {
		...cache,
		source: tensors.int32(Int32Array.of(2, 0, 0, 4, 1, 2), [6]),
		lengths: tensors.int32(Int32Array.of(3, 8, 1, 5, 2, 4), [6, 1]),
		numbers: tensors.int32(
			Int32Array.from({ length: room }, (_, slot) => slot),
			[room],
		),
		gap: tensors.float(
			Float32Array.from({ length: room }, (_, slot) => (slot < 8 ? -1e9 : 0)),
			[room],
		),
	};
}

/** A cache of random keys and values in which each row has filled a different number of slots. */
function decodeFeeds(shape: ModelShape, tensors: Tensors, random: Random): Feeds {
	const [rows, slots] = [5, 8];
	const headWidth = shape.width / shape.heads;
	const lengths = Array.from({ length: rows }, () => 1 + random.int(slots - 1));
	const mask = Float32Array.from({ length: rows * slots }, (_, i) =>
		i % slots < (lengths[Math.floor(i / slots)] as number) ? 0 : -1e9,
	);
	const feeds: Feeds = {
		tokens: tensors.int32(
			Int32Array.from({ length: rows }, () => random.int(shape.vocabulary)),
			[rows, 1],
		),
		positions: tensors.int32(Int32Array.from(lengths), [rows, 1]),
		mask: tensors.float(mask, [rows, 1, 1, slots]),
	};
	for (let layer = 0; layer < shape.layers; layer++) {
		for (const part of ['keys', 'values'] as const) {
			const values = Float32Array.from({ length: rows * shape.width * slots }, () => random.normal());
			feeds[cacheName(part, layer)] = tensors.float(values, [rows, shape.heads, slots, headWidth]);
		}
	}
	return feeds;
}
