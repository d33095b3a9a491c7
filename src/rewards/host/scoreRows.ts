import type { ScoreError } from '../../protocol/scorer.ts';
import type { RewardSample } from '../builtIns.ts';
import { ExitCalled } from './capture.ts';
import type { LoadedReward } from './loadedReward.ts';
import { checkValue, nameOf } from './rewardValue.ts';
import { describeThrown, type Thrown } from './userFrames.ts';

/** Time to spend scoring rows before checking for messages such as a cancellation, in milliseconds. */
const sliceMs = 20;

/** Maximum number of errors with a stack. Other errors have only their line and a truncated message. */
const maxStacks = 50;
const shortMessage = 300;

export interface ScoredRows {
	readonly values: (number | null)[];
	readonly errors: ScoreError[];
}

/** Scores samples with a single reward. Reward errors become row errors; rejects only if `signal` is aborted. */
export class RowScorer {
	readonly #reward: LoadedReward;
	readonly #describe: (error: unknown) => Thrown;
	readonly #signal: AbortSignal;
	readonly #errors: ScoreError[] = [];
	/** Never resolves; rejects when the signal is aborted. */
	readonly #aborted: Promise<never>;

	/** @param file reward file, or null; @param own folder that contains this program */
	constructor(reward: LoadedReward, file: string | null, own: string, signal: AbortSignal) {
		this.#reward = reward;
		this.#describe = (error) => describeThrown(error, file, own);
		this.#signal = signal;
		this.#aborted = new Promise((_, reject) => {
			signal.addEventListener('abort', () => reject(signal.reason), { once: true });
		});
		this.#aborted.catch(() => undefined);
	}

	async score(samples: readonly RewardSample[]): Promise<ScoredRows> {
		const values = new Array<number | null>(samples.length).fill(null);
		if (this.#reward.form === 'batch') await this.#batch(samples, values);
		else await this.#rows(samples, values);
		return { values, errors: this.#errors.sort((a, b) => a.index - b.index) };
	}

	async #rows(samples: readonly RewardSample[], values: (number | null)[]): Promise<void> {
		const pending = new Set<Promise<void>>();
		let sliceEnd = performance.now() + sliceMs;
		for (let i = 0; i < samples.length; i++) {
			let returned: unknown;
			let isAsync: boolean;
			try {
				returned = this.#reward.call(samples[i] as RewardSample, this.#signal);
				isAsync = isPromise(returned);
			} catch (error) {
				this.#threw(i, error);
				continue;
			}
			if (isAsync) {
				const one = Promise.resolve(returned)
					.then(
						(value) => this.#keep(values, i, value),
						(error: unknown) => this.#threw(i, error),
					)
					.finally(() => pending.delete(one));
				pending.add(one);
				if (pending.size >= this.#reward.concurrency) await Promise.race([...pending, this.#aborted]);
			} else this.#keep(values, i, returned);
			// Check the clock only every 32 rows, because reading it costs as much as evaluating a small reward.
			if ((i & 31) === 31 && performance.now() > sliceEnd) {
				await new Promise(setImmediate);
				this.#signal.throwIfAborted();
				sliceEnd = performance.now() + sliceMs;
			}
		}
		await Promise.race([Promise.all(pending), this.#aborted]);
		this.#signal.throwIfAborted();
	}

	async #batch(samples: readonly RewardSample[], values: (number | null)[]): Promise<void> {
		let list: unknown;
		try {
			list = await Promise.race([this.#reward.call(samples, this.#signal), this.#aborted]);
		} catch (error) {
			this.#signal.throwIfAborted();
			this.#threw(-1, error);
			return;
		}
		const invalid = (message: string) => this.#errors.push({ index: -1, kind: 'invalid', message });
		if (!Array.isArray(list) && !ArrayBuffer.isView(list)) {
			invalid(`returned ${nameOf(list)} instead of a list of ${samples.length} rewards`);
			return;
		}
		const rewards = list as ArrayLike<unknown>;
		if (rewards.length !== samples.length) {
			invalid(`returned ${rewards.length} rewards for ${samples.length} rows`);
			return;
		}
		for (let i = 0; i < samples.length; i++) {
			const returned = rewards[i];
			if (returned instanceof Error) this.#threw(i, returned);
			else this.#keep(values, i, returned);
		}
	}

	#keep(values: (number | null)[], index: number, returned: unknown): void {
		const checked = checkValue(returned);
		if ('value' in checked) values[index] = checked.value;
		else this.#errors.push({ index, kind: 'invalid', message: checked.fault });
	}

	#threw(index: number, error: unknown): void {
		const { stack, ...thrown } = this.#describe(error);
		const kind = error instanceof ExitCalled ? 'exited' : 'threw';
		const full = this.#errors.length < maxStacks;
		this.#errors.push({
			index,
			kind,
			...thrown,
			message: full ? thrown.message : thrown.message.slice(0, shortMessage),
			...(stack !== undefined && full ? { stack } : {}),
		});
	}
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
	return typeof (value as { then?: unknown } | null)?.then === 'function';
}
