import type { RewardDescription } from '../../protocol/rewardHost.ts';
import type { RewardSample } from '../builtIns.ts';

/** A reward loaded in this process. */
export interface LoadedReward {
	readonly description: RewardDescription;
	/** `row`: `call` takes one sample; `batch`: `call` takes all samples and returns a list. */
	readonly form: 'row' | 'batch';
	call(input: RewardSample | readonly RewardSample[], signal: AbortSignal): unknown;
	/** Maximum number of rows in flight if `call` is asynchronous. */
	readonly concurrency: number;
}
