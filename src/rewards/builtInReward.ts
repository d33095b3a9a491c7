import type { RewardSample } from '../core/reward/rewardSample.ts';

/** One built-in reward, ready to score. Throws of `score` become errors of their rows. */
export interface BuiltIn {
	score(sample: RewardSample, signal: AbortSignal): number | null | Promise<number | null>;
	/** Scores a batch at once, in place of `score` row by row; an error in a row's place is that row's. */
	scoreAll?(samples: readonly RewardSample[], signal: AbortSignal): Promise<readonly (number | null | Error)[]>;
	/** Rows that may be in flight at once when `score` is asynchronous; default 8. */
	readonly concurrency?: number;
	dispose?(): void;
}
