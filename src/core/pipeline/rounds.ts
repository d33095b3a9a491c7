import type { EvaluationReport } from '../evaluation/evaluationReport.ts';

/** Evaluation result for one round of a loop. */
export interface RoundPoint {
	/** Name of the evaluation stage. */
	readonly stage: string;
	/** 1-based round number; 0 is the starting point of the first round. */
	readonly number: number;
	readonly problems: number;
	/** pass@1 with its 95% interval. */
	readonly accuracy: EvaluationReport['accuracy'];
	/** Gain from selecting among several samples, or null if there is one sample per question. */
	readonly gain: EvaluationReport['gain'];
}

/** Evaluations by one loop stage, by round. */
export interface RoundSeries {
	/** Name of the stage within the loop. */
	readonly of: string;
	/** At least one point, in ascending order. */
	readonly points: readonly RoundPoint[];
}

/** Stage properties used in this module. */
export interface EvaluatedRound {
	readonly name: string;
	readonly round?: { readonly of: string; readonly number: number } | undefined;
	readonly report: Pick<EvaluationReport, 'problems' | 'accuracy' | 'gain'>;
}

/** Groups evaluations by loop stage. If a round has two, the later one wins. */
export function roundSeries(stages: readonly EvaluatedRound[]): RoundSeries[] {
	const found = new Map<string, Map<number, RoundPoint>>();
	for (const { name, round, report } of stages) {
		if (round === undefined) continue;
		const { of, number } = round;
		const { problems, accuracy, gain } = report;
		const points = found.get(of) ?? new Map<number, RoundPoint>();
		points.set(number, { stage: name, number, problems, accuracy, gain });
		found.set(of, points);
	}
	return [...found].map(([of, points]) => ({ of, points: [...points.values()].sort((a, b) => a.number - b.number) }));
}

/** Formats the selection method, such as "best of 8 by the judge". */
export const chooserText = ({ k, by }: NonNullable<RoundPoint['gain']>): string =>
	by === 'judge' ? `best of ${k} by the judge` : `majority of ${k}`;
