import { Failure } from '../../base/failure.ts';
import type { ScoreRow, Scorer } from '../../protocol/scorer.ts';
import { parseTrace } from '../trace/parseTrace.ts';
import type { TraceTags } from '../trace/trace.ts';
import { accuracyOf, exactVerifier, type Verifier } from './accuracyReward.ts';
import { formatOf } from './formatReward.ts';

export type BuiltInReward = 'accuracy' | 'format';

export interface BuiltInOptions {
	/** Name of the column in metrics and rollouts. */
	readonly name?: string;
	readonly weight: number;
	readonly tags: TraceTags;
	/** The dataset's verifier (`ProblemSource.verify`); exact comparison when absent. */
	readonly verify?: Verifier;
}

/** A built-in reward behind the interface of all rewards; it scores in the process and at once. */
export function createBuiltInScorer(reward: BuiltInReward, options: BuiltInOptions): Scorer {
	const { tags, verify = exactVerifier } = options;
	const score = (row: ScoreRow): number | null => {
		const trace = parseTrace(row.completion, tags);
		return reward === 'accuracy' ? accuracyOf(row, trace, tags, verify) : formatOf(row, trace);
	};
	return {
		description: { name: options.name ?? reward, weight: options.weight, batchOnly: false },
		async score(rows, { signal }) {
			if (signal?.aborted) throw new Failure('cancelled', `Scoring "${reward}" was cancelled.`);
			return { values: rows.map(score), errors: [], logs: [], durationMs: 0 };
		},
		dispose() {},
	};
}
