import type { Graph } from '../onnx/graph.ts';
import { encodeOnnxModel } from '../onnx/onnxModel.ts';
import { type Feeds, Session, type Tensor } from './runtime.ts';

/** A value in a program that differs between two execution providers. */
export interface ValueDifference {
	/** Operator that computes the value, such as `MatMul`, and the position of that operator in the program. */
	readonly operator: string;
	readonly index: number;
	readonly value: string;
	/** Largest magnitude of the expected elements, and largest deviation from them. */
	readonly largest: number;
	readonly deviation: number;
}

export interface Deviation {
	readonly largest: number;
	readonly deviation: number;
}

type Numbers = ArrayLike<number> | ArrayLike<bigint>;

/**
 * Returns the largest magnitude of the expected elements and the largest deviation from them, which is NaN if exactly
 * one of two corresponding elements is NaN.
 */
export function deviationOf(expected: Numbers, actual: Numbers): Deviation {
	let largest = 0;
	let deviation = expected.length === actual.length ? 0 : Number.NaN;
	for (let i = 0; i < expected.length; i++) {
		const [x, y] = [Number(expected[i]), Number(actual[i])];
		if (Object.is(x, y) || x === y) {
			if (Number.isFinite(x)) largest = Math.max(largest, Math.abs(x));
			continue;
		}
		largest = Math.max(largest, Math.abs(x));
		deviation = Math.max(deviation, Math.abs(x - y));
	}
	return { largest, deviation };
}

/** Returns whether a deviation exceeds the tolerance, relative to the largest element. */
export function differs({ largest, deviation }: Deviation, tolerance: number): boolean {
	return !(deviation <= tolerance * largest + Number.MIN_VALUE);
}

/** A program on an execution provider, named as the runtime names it. */
export interface PlacedProgram {
	readonly provider: string;
	readonly graph: Graph;
}

/**
 * Runs a program on two execution providers with every intermediate value as an output. Returns the first value, in
 * program order, that differs by more than `tolerance` times its largest element; null if there is none. The programs
 * may differ in how products are rounded. Operator fusion is disabled, so that each value belongs to a single operator.
 */
export async function firstDifference(
	expected: PlacedProgram,
	actual: PlacedProgram,
	feeds: Feeds,
	tolerance: number,
): Promise<ValueDifference | null> {
	const run = async ({ graph, provider }: PlacedProgram): Promise<Record<string, Tensor>> => {
		const program = encodeOnnxModel(graph.observed());
		const session = await Session.create(program, { provider, threads: 1, optimize: false });
		try {
			return await session.run(feeds);
		} finally {
			await session.release();
		}
	};
	const [before, after] = [await run(expected), await run(actual)];
	for (const [index, { op, outputs }] of expected.graph.model().nodes.entries()) {
		for (const value of outputs) {
			const [x, y] = [before[value], after[value]];
			if (x === undefined || y === undefined) continue;
			const found = deviationOf(x.data as Numbers, y.data as Numbers);
			if (differs(found, tolerance)) return { operator: op, index, value, ...found };
		}
	}
	return null;
}
