/**
 * Tolerance for comparing a decimal in the answer with the expected decimal. Integers and strings must always match
 * exactly.
 */
export interface Tolerance {
	/** Relative tolerance. Scaled by the expected value only, so a large actual value does not widen it. */
	readonly relative: number;
	/** Absolute tolerance when the expected value is 0. */
	readonly zero: number;
}

export type Benchmark = 'livecodebench' | 'apps' | 'other';

/**
 * Comparison rules per benchmark, for both languages and for both programs and calls. Rows with asserts (HumanEval,
 * MBPP) define their own.
 *
 * - LiveCodeBench (`lcb_runner/evaluation/testing_util.py`): values must be equal; program outputs must match line by
 *   line or as decimal numbers.
 * - APPS and TACO (APPS's `testing_util.py`): program outputs are compared with `numpy.allclose`, with a relative
 *   tolerance of 1e-5 and an absolute tolerance of 1e-8. Here, the absolute tolerance applies only to 0, and calls use
 *   the same tolerances although APPS requires equality, so `0.1 + 0.2` matches 0.3.
 */
export const tolerances: Readonly<Record<Benchmark, Tolerance>> = {
	livecodebench: { relative: 0, zero: 0 },
	apps: { relative: 1e-5, zero: 1e-8 },
	other: { relative: 1e-6, zero: 1e-9 },
};
