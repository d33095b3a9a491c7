import type { Random } from '../../../../src/base/random.ts';
import { packedInputs } from '../../../../src/engines/embedded/compute/packedLayout.ts';
import { pack } from '../../../../src/engines/embedded/compute/packing.ts';
import { Session, type Tensor, Tensors } from '../../../../src/engines/embedded/compute/runtime.ts';
import type { OptimizerSettings, Sequence } from '../../../../src/engines/embedded/learner.ts';
import type { Graph } from '../../../../src/engines/embedded/onnx/graph.ts';
import type { ModelShape } from '../../../../src/engines/shared/modelShape.ts';

/** Fixtures shared by the numerical tests. */

export const tinyShape: ModelShape = { vocabulary: 7, context: 12, width: 8, heads: 2, layers: 2, feedForward: 12 };

export const adam: OptimizerSettings = {
	learningRate: 1e-2,
	beta1: 0.9,
	beta2: 0.98,
	epsilon: 1e-8,
	weightDecay: 0.1,
	maxGradNorm: 1,
};

export function normals(random: Random, count: number, deviation = 1): number[] {
	return Array.from({ length: count }, () => random.normal() * deviation);
}

export interface Feed {
	readonly shape: readonly number[];
	readonly values: readonly number[];
	readonly type?: 'int32' | 'int64';
}

/** Builds the program inputs for some rows. */
export function packedFeeds(rows: readonly Sequence[]): Record<string, Feed> {
	return Object.fromEntries(
		Object.entries(packedInputs(pack(rows), tinyShape.heads)).map(([name, { shape, values }]): [string, Feed] => {
			const numbers = Array.from(values, Number);
			if (values instanceof Float32Array) return [name, { shape, values: numbers }];
			return [name, { shape, values: numbers, type: values instanceof Int32Array ? 'int32' : 'int64' }];
		}),
	);
}

/**
 * Rows with every kind of sharing: some share a prompt, and of these, some also share a completion prefix or a whole
 * completion. Other rows have their own prompts, one of which is a single token long.
 */
export const sharingRows: readonly Sequence[] = [
	{ tokens: [1, 5, 3, 2, 6, 4, 4, 2], promptLength: 3 },
	{ tokens: [1, 5, 3, 2, 6], promptLength: 3 },
	{ tokens: [1, 2, 4, 6, 3, 5, 0, 1, 2, 4], promptLength: 4 },
	{ tokens: [1, 5, 3, 2, 6, 1, 4], promptLength: 3 },
	{ tokens: [2, 6, 6], promptLength: 1 },
];

/** Compiled program that takes and returns plain numbers, in the graph's own precision. */
export class Program {
	readonly #session: Session;
	readonly #tensors: Tensors;
	readonly #double: boolean;

	private constructor(session: Session, tensors: Tensors, double: boolean) {
		this.#session = session;
		this.#tensors = tensors;
		this.#double = double;
	}

	static async compile(graph: Graph): Promise<Program> {
		const session = await Session.create(graph.encode(), { provider: 'cpu', threads: 1 });
		return new Program(session, await Tensors.load(), graph.floatType === 'float64');
	}

	async run(feeds: Readonly<Record<string, Feed>>): Promise<Record<string, number[]>> {
		const tensors: Record<string, Tensor> = {};
		for (const [name, { shape, values, type }] of Object.entries(feeds)) {
			if (type === 'int32') tensors[name] = this.#tensors.int32(Int32Array.from(values), shape);
			else if (type === 'int64') tensors[name] = this.#tensors.int64(BigInt64Array.from(values, BigInt), shape);
			else if (this.#double) tensors[name] = this.#tensors.double(Float64Array.from(values), shape);
			else tensors[name] = this.#tensors.float(Float32Array.from(values), shape);
		}
		const results = await this.#session.run(tensors);
		return Object.fromEntries(
			Object.entries(results).map(([name, tensor]) => [name, Array.from(tensor.data as Float32Array | Float64Array)]),
		);
	}
}

/**
 * Returns the largest relative error of `gradient` against central differences of `loss` at the given indices. Errors
 * of elements much smaller than the largest are relative to 1e-4 of the largest.
 */
export async function differenceError(
	values: readonly number[],
	gradient: readonly number[],
	places: readonly number[],
	loss: (values: readonly number[]) => Promise<number>,
): Promise<number> {
	const step = 1e-5;
	const floor = 1e-4 * gradient.reduce((n, x) => Math.max(n, Math.abs(x)), 0);
	let worst = 0;
	for (const place of places) {
		const at = (delta: number) => loss(values.map((x, i) => (i === place ? x + delta : x)));
		const difference = ((await at(step)) - (await at(-step))) / (2 * step);
		const exact = gradient[place] as number;
		const scale = Math.max(floor, Math.abs(difference), Math.abs(exact), Number.MIN_VALUE);
		const error = Math.abs(difference - exact) / scale;
		if (!(error <= worst)) worst = error;
	}
	return worst;
}

/** Picks up to `count` random indices into a vector. */
export function somePlaces(length: number, count: number, random: Random): number[] {
	const all = Array.from({ length }, (_, i) => i);
	return length <= count ? all : random.shuffle(all).slice(0, count);
}

/** Returns the largest absolute difference between two vectors. */
export function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
	if (a.length !== b.length) return Number.POSITIVE_INFINITY;
	let worst = 0;
	for (let i = 0; i < a.length; i++) {
		const d = Math.abs((a[i] as number) - (b[i] as number));
		if (!(d <= worst)) worst = d;
	}
	return worst;
}
