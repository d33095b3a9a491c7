import type { DiagnosisRun, Row } from './diagnosisRun.ts';
import { judgesAnswer } from './rewardNames.ts';
import { Recent } from './series.ts';
import { limit } from './thresholds.ts';

/** Tracks how well the task is solved, based on the newest held-out accuracy or the correctness reward. */
export class Solving {
	readonly #recent = new Recent(limit('shortRun'));
	#judge: string | null;
	#heldOut: number | null = null;

	constructor(run: DiagnosisRun) {
		const name = run.rewards.find((reward) => judgesAnswer(reward.name))?.name;
		this.#judge = name === undefined ? null : `rewards/${name}/mean`;
	}

	/** @returns the mean of the correctness reward, if the row includes it */
	row(row: Row): number | null {
		this.#judge ??=
			row.names.find((name) => {
				const reward = /^rewards\/(.+)\/mean$/s.exec(name)?.[1];
				return reward !== undefined && judgesAnswer(reward);
			}) ?? null;
		const value = this.#judge === null ? null : row.get(this.#judge);
		if (value !== null) this.#recent.push(value);
		const heldOut = row.get('eval/heldout/accuracy');
		if (heldOut !== null) this.#heldOut = heldOut;
		return value;
	}

	/** Accuracy from 0 to 1, or null if unknown. */
	get accuracy(): number | null {
		if (this.#heldOut !== null) return this.#heldOut;
		return this.#recent.count === 0 ? null : this.#recent.mean();
	}

	/**
	 * Mean of the correctness reward over the last `shortRun` batches, ignoring held-out results, or null if there are
	 * too few batches.
	 */
	get training(): number | null {
		return this.#recent.full ? this.#recent.mean() : null;
	}

	/** Whether there is little left to learn, or null if unknown. */
	get solved(): boolean | null {
		return this.accuracy === null ? null : this.accuracy >= limit('solvedAccuracy');
	}
}
