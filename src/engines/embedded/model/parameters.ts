import { Failure } from '../../../base/failure.ts';
import { Random } from '../../../base/random.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { ParameterSpec } from '../learner.ts';

interface InitializedParameter extends ParameterSpec {
	/** Standard deviation of the initial values, or null to initialize to 1 (norms). */
	readonly deviation: number | null;
}

/**
 * Returns the transformer's parameters in flat-vector order. Initial standard deviations are 1/sqrt(inputs), divided by
 * sqrt(2 layers) for outputs into the residual stream (Radford 2019, section 2.3).
 */
function describe(shape: ModelShape): InitializedParameter[] {
	const { vocabulary, context, width, layers, feedForward } = shape;
	const list: InitializedParameter[] = [];
	const matrix = (name: string, rows: number, columns: number, deviation: number) =>
		list.push({ name, shape: [rows, columns], decay: true, deviation });
	const norm = (name: string) => list.push({ name, shape: [width], decay: false, deviation: null });
	matrix('embedding.tokens', vocabulary, width, 0.02);
	matrix('embedding.positions', context, width, 0.02);
	for (let layer = 0; layer < layers; layer++) {
		const block = `blocks.${layer}`;
		norm(`${block}.attention.norm`);
		matrix(`${block}.attention.qkv`, width, 3 * width, 1 / Math.sqrt(width));
		matrix(`${block}.attention.output`, width, width, 1 / Math.sqrt(2 * layers * width));
		norm(`${block}.feed_forward.norm`);
		matrix(`${block}.feed_forward.up`, width, feedForward, 1 / Math.sqrt(width));
		matrix(`${block}.feed_forward.down`, feedForward, width, 1 / Math.sqrt(2 * layers * feedForward));
	}
	norm('norm');
	matrix('head', width, vocabulary, 0.02);
	return list;
}

export function parameterSpecs(shape: ModelShape): readonly ParameterSpec[] {
	return describe(shape).map(({ name, shape: size, decay }) => ({ name, shape: size, decay }));
}

/** Model type: the policy, or a value model with the same trunk and a scalar output instead of the vocabulary. */
export type ModelKind = 'policy' | 'value';

/**
 * Trunk parameters in policy order, followed by those that read surprisals: one weight per unit of width, and a bias.
 */
export function valueParameterSpecs(shape: ModelShape): readonly ParameterSpec[] {
	return [
		...parameterSpecs(shape).slice(0, -1),
		{ name: 'value.surprise', shape: [shape.width], decay: false },
		{ name: 'value.weight', shape: [shape.width, 1], decay: true },
		{ name: 'value.bias', shape: [1], decay: false },
	];
}

export function specsOf(kind: ModelKind, shape: ModelShape): readonly ParameterSpec[] {
	return kind === 'policy' ? parameterSpecs(shape) : valueParameterSpecs(shape);
}

export function countOf(specs: readonly ParameterSpec[]): number {
	return specs.reduce((n, spec) => n + elementCount(spec.shape), 0);
}

/** Standard deviation of the initial `value.surprise`, large enough that the model learns from surprisals first. */
const surpriseDeviation = 1;

/** Returns the initial value model: the policy's trunk, with a head that assigns a value of 0.5 to any text. */
export function initialValueParameters(shape: ModelShape, policy: Float32Array): Float32Array {
	const specs = valueParameterSpecs(shape);
	const flat = new Float32Array(countOf(specs));
	const trunk = countOf(specs.slice(0, -3));
	flat.set(policy.subarray(0, trunk));
	// Surprisals are initially embedded in a random direction. The scalar weights start at 0.
	const random = Random.of('surprise');
	for (let i = trunk; i < trunk + shape.width; i++) flat[i] = random.normal() * surpriseDeviation;
	return flat;
}

export function elementCount(shape: readonly number[]): number {
	return shape.reduce((n, d) => n * d, 1);
}

export function parameterCount(shape: ModelShape): number {
	return describe(shape).reduce((n, spec) => n + elementCount(spec.shape), 0);
}

/** Returns initial weights as a flat vector that depends only on the shape and the seed. */
export function initialParameters(shape: ModelShape, seed: number): Float32Array {
	const flat = new Float32Array(parameterCount(shape));
	const random = Random.of(seed, 'parameters');
	let offset = 0;
	for (const spec of describe(shape)) {
		const end = offset + elementCount(spec.shape);
		if (spec.deviation === null) flat.fill(1, offset, end);
		else for (let i = offset; i < end; i++) flat[i] = random.normal() * spec.deviation;
		offset = end;
	}
	return flat;
}

/** Throws `invalid` if the sizes do not form a valid model. */
export function checkShape(shape: ModelShape): void {
	for (const [name, size] of Object.entries(shape)) {
		if (!Number.isInteger(size) || size < 1) {
			throw new Failure('invalid', `The model's ${name} is ${size}.`, 'Use an integer of at least 1.');
		}
	}
	if (shape.width % shape.heads !== 0) {
		throw new Failure(
			'invalid',
			`The model's width ${shape.width} is not a multiple of its ${shape.heads} heads.`,
			'Choose a width that is divisible by the number of heads.',
		);
	}
}
