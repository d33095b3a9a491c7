import type { RewardDescription } from '../../protocol/rewardHost.ts';
import type { RewardSample } from '../builtIns.ts';

/** A reward of this process. */
export interface LoadedReward {
	readonly description: RewardDescription;
	/** `row`: `call` takes one sample; `batch`: `call` takes all samples and gives a list. */
	readonly form: 'row' | 'batch';
	call(input: RewardSample | readonly RewardSample[], signal: AbortSignal): unknown;
	/** Rows in flight at once when `call` is asynchronous. */
	readonly concurrency: number;
}
