/** How close an answer has to come to an expected decimal fraction. Whole numbers and texts are always met exactly. */
export interface Tolerance {
	/** Of the expected value alone: no value is near because the answer's own is large. */
	readonly relative: number;
	/** Where 0 is expected. */
	readonly zero: number;
}

export type Benchmark = 'livecodebench' | 'apps' | 'other';

/**
 * The rule of each benchmark, for both languages, for programs and for calls. Rows of asserts (HumanEval, MBPP) bring their own.
 *
 * - LiveCodeBench (`lcb_runner/evaluation/testing_util.py`): values are equal; of what programs write, lines or their decimal
 *   numbers are.
 * - APPS and TACO (APPS's `testing_util.py`): what programs write is compared by `numpy.allclose`, within 1e-5 of the expected
 *   value and 1e-8 beside it. The 1e-8 count only for 0 here, and calls have the same tolerance, where APPS asks for equality:
 *   `0.1 + 0.2` is 0.3.
 */
export const tolerances: Readonly<Record<Benchmark, Tolerance>> = {
	livecodebench: { relative: 0, zero: 0 },
	apps: { relative: 1e-5, zero: 1e-8 },
	other: { relative: 1e-6, zero: 1e-9 },
};
