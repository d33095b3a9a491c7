import { type Deferred, deferred } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { ScoreItem, Scorer } from './scorer.ts';
import { SearchStop } from './searchStop.ts';

interface Waiting {
	readonly items: readonly ScoreItem[];
	readonly answer: Deferred<readonly (number | null)[]>;
}

/**
 * Batches calls to one scorer: items submitted at the same time are scored together. An exception in the scorer ends
 * the search.
 */
export class ScorerQueue {
	readonly #scorer: Scorer;
	#waiting: Waiting[] = [];
	readonly #underWay = new Set<Waiting['answer']>();

	constructor(scorer: Scorer) {
		this.#scorer = scorer;
	}

	/** Scores the items; returns the scorer's result for each one. */
	submit(items: readonly ScoreItem[]): Promise<readonly (number | null)[]> {
		const answer = deferred<readonly (number | null)[]>();
		this.#waiting.push({ items, answer });
		if (this.#waiting.length === 1) void this.#flush();
		return answer.promise;
	}

	/** Rejects all pending calls; later replies from the scorer are discarded. */
	stop(stop: SearchStop): void {
		const left = [...this.#underWay, ...this.#waiting.splice(0).map(({ answer }) => answer)];
		this.#underWay.clear();
		for (const answer of left) answer.reject(stop);
	}

	async #flush(): Promise<void> {
		await null;
		const batch = this.#waiting.splice(0);
		if (batch.length === 0) return;
		for (const { answer } of batch) this.#underWay.add(answer);
		const items = batch.length === 1 ? (batch[0] as Waiting).items : batch.flatMap((one) => one.items);
		try {
			const values = await this.#scorer.score(items);
			if (!Array.isArray(values) || values.length !== items.length) {
				throw new Failure(
					'invalid',
					`Scorer ${this.#scorer.name} returned ${values?.length ?? 'no'} values for ${items.length} items.`,
				);
			}
			let from = 0;
			for (const { items: own, answer } of batch) {
				if (this.#underWay.delete(answer)) answer.resolve(values.slice(from, from + own.length));
				from += own.length;
			}
		} catch (error) {
			const stop = error instanceof SearchStop ? error : this.#stopOf(error);
			for (const { answer } of batch) if (this.#underWay.delete(answer)) answer.reject(stop);
		}
	}

	#stopOf(error: unknown): SearchStop {
		const failure = Failure.from(error, `Scorer ${this.#scorer.name} failed`);
		return new SearchStop(failure.reason === 'cancelled' ? 'stopped' : 'scorer', failure.toString());
	}
}
