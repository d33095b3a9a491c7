import { formatCounted } from '../../base/format.ts';
import type { ComparedMeasure, Comparison, ComparisonExpectation } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import { type Difference, differenceInterval } from '../evaluation/differenceInterval.ts';
import { fewestProblems } from '../evaluation/pairProblems.ts';
import type { ReportedEvaluation } from './reportedRun.ts';

/** A paired comparison of two evaluations, matched by question. */
export type ComparedStages =
	| {
			readonly questions: number;
			/** Means over the questions in both evaluations. */
			readonly stage: number;
			readonly against: number;
			/** Stage minus `against`. */
			readonly difference: Difference;
	  }
	| { readonly reason: string };

/** Returns the means of the questions that occur in both evaluations. */
export function pairedMeans(
	stage: ReportedEvaluation,
	against: ReportedEvaluation,
	{ measure = 'accuracy', category }: Pick<Comparison, 'measure' | 'category'> = {},
): (readonly [stage: number, against: number])[] {
	const pairs: (readonly [stage: number, against: number])[] = [];
	for (const [key, { category: kind, means }] of stage.questions) {
		if (category !== undefined && kind !== category) continue;
		const [own, other] = [means[measure], against.questions.get(key)?.means[measure] ?? null];
		if (own !== null && other !== null) pairs.push([own, other]);
	}
	return pairs;
}

/** Metrics between 0 and 1. The others count tokens or markers. */
const shares: readonly ComparedMeasure[] = ['accuracy', 'format', 'one-language'];

/** Compares a metric over the questions that occur in both evaluations. */
export function compareStages(
	stage: ReportedEvaluation,
	against: ReportedEvaluation,
	{ measure = 'accuracy', category }: Pick<Comparison, 'measure' | 'category'>,
): ComparedStages {
	const pairs = pairedMeans(stage, against, { measure, category });
	const questions = pairs.length;
	if (questions < fewestProblems) {
		return { reason: `only ${formatCounted(questions, 'question')} in common, too few to compare` };
	}
	const mean = (side: 0 | 1) => pairs.reduce((sum, pair) => sum + pair[side], 0) / questions;
	const difference = differenceInterval(
		pairs.map(([own, other]) => own - other),
		shares.includes(measure) ? 1 : Number.POSITIVE_INFINITY,
	);
	return { questions, stage: mean(0), against: mean(1), difference };
}

/** Whether a measured difference meets its expectation. */
export interface ComparisonVerdict {
	/** Whether the entire interval supports the expectation or, for `not-below`, does not contradict it. */
	readonly holds: boolean;
	/** Whether the mean has the expected sign. */
	readonly sign: boolean;
}

export function verdictOf(expect: ComparisonExpectation, { mean, low, high }: Difference): ComparisonVerdict {
	switch (expect) {
		case 'above':
			return { holds: low > 0, sign: mean > 0 };
		case 'below':
			return { holds: high < 0, sign: mean < 0 };
		case 'not-below':
			return { holds: high >= 0, sign: mean >= 0 };
	}
}
