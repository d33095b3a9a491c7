import { formatCounted } from '../../base/format.ts';
import { type Difference, differenceInterval } from './differenceInterval.ts';
import { mcnemarExact, signFlipTest } from './pairedTest.ts';

/** One sample of a problem. `problem` identifies the problem in both runs. */
export interface ProblemSample {
	readonly problem: string;
	readonly correct: boolean;
}

/** Sample counts for one problem. */
export interface ProblemCount {
	readonly right: number;
	readonly samples: number;
}

/** A problem evaluated in both runs. */
export interface ProblemPair {
	readonly first: ProblemCount;
	readonly second: ProblemCount;
}

export interface Pairing {
	readonly pairs: readonly ProblemPair[];
	/** Number of problems that occur in only one of the runs. */
	readonly onlyFirst: number;
	readonly onlySecond: number;
}

/** Counts the correct samples and all samples for each problem. */
export function countProblems(samples: Iterable<ProblemSample>): Map<string, { right: number; samples: number }> {
	const counts = new Map<string, { right: number; samples: number }>();
	for (const { problem, correct } of samples) {
		const count = counts.get(problem) ?? { right: 0, samples: 0 };
		count.samples++;
		if (correct) count.right++;
		counts.set(problem, count);
	}
	return counts;
}

export function pairProblems(
	first: ReadonlyMap<string, ProblemCount>,
	second: ReadonlyMap<string, ProblemCount>,
): Pairing {
	const pairs: ProblemPair[] = [];
	for (const [problem, count] of first) {
		const other = second.get(problem);
		if (other !== undefined) pairs.push({ first: count, second: other });
	}
	return { pairs, onlyFirst: first.size - pairs.length, onlySecond: second.size - pairs.length };
}

export type PairedComparison =
	/** Every problem has one sample per run. */
	| {
			readonly test: 'mcnemar';
			readonly problems: number;
			/** Mean fraction of correct samples over the paired problems. */
			readonly first: number;
			readonly second: number;
			readonly onlyFirst: number;
			readonly onlySecond: number;
			/** Number of problems for which the second run has a higher (or lower) fraction of correct samples. */
			readonly gained: number;
			readonly lost: number;
			readonly p: number;
			/** Second minus first. */
			readonly difference: Difference;
	  }
	| {
			readonly test: 'sign-flip';
			readonly problems: number;
			readonly first: number;
			readonly second: number;
			readonly gained: number;
			readonly lost: number;
			readonly p: number;
			readonly difference: Difference;
	  }
	| { readonly test: 'none'; readonly reason: string };

/** Minimum number of problems for significance. The exact McNemar test needs six that differ for p < 0.05. */
export const fewestProblems = 6;

/**
 * Tests whether two runs differ on the problems that both evaluated, using the sign-flip test, which is equivalent to
 * the exact McNemar test if there is one sample per problem. The test is deterministic: the same samples give the same
 * p-value.
 */
export function comparePaired({ pairs, onlyFirst, onlySecond }: Pairing): PairedComparison {
	const problems = pairs.length;
	if (problems === 0) {
		return { test: 'none', reason: 'The runs were evaluated on different problems: they have no prompts in common.' };
	}
	if (problems < fewestProblems) {
		return {
			test: 'none',
			reason: `Only ${formatCounted(problems, 'problem is', 'problems are')} in both runs (${onlyFirst} only in the first, ${onlySecond} only in the second). At least ${fewestProblems} are needed.`,
		};
	}
	const share = ({ right, samples }: ProblemCount): number => right / samples;
	const mean = (side: 'first' | 'second'): number => pairs.reduce((sum, pair) => sum + share(pair[side]), 0) / problems;
	const differences = pairs.map(({ first, second }) => share(second) - share(first));
	const difference = differenceInterval(differences);
	const lost = differences.filter((value) => value < 0).length;
	const gained = differences.filter((value) => value > 0).length;
	const common = { problems, first: mean('first'), second: mean('second'), gained, lost, difference };
	if (pairs.some(({ first, second }) => first.samples !== 1 || second.samples !== 1)) {
		return { test: 'sign-flip', ...common, p: signFlipTest(differences) };
	}
	return { test: 'mcnemar', ...common, onlyFirst: lost, onlySecond: gained, p: mcnemarExact(lost, gained) };
}
