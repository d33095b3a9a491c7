import type { RewardSample } from '../core/reward/rewardSample.ts';

/** A built-in reward that is ready to score. Exceptions thrown by `score` become errors on their rows. */
export interface BuiltIn {
	score(sample: RewardSample, signal: AbortSignal): number | null | Promise<number | null>;
	/**
	 * Scores a whole batch, instead of calling `score` for each row. An error in the result applies to the row at that
	 * index.
	 */
	scoreAll?(samples: readonly RewardSample[], signal: AbortSignal): Promise<readonly (number | null | Error)[]>;
	/** Maximum number of rows in flight when `score` is asynchronous. Default 8. */
	readonly concurrency?: number;
	dispose?(): void;
}
