import { type Deferred, deferred } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { Generated, GenerateRequest, Policy } from './policy.ts';
import { SearchStop } from './searchStop.ts';

interface Waiting {
	readonly request: GenerateRequest;
	readonly answer: Deferred<Generated>;
}

/**
 * Number of microtasks for which a call waits for others to join its batch. Covers the typical delay between operators
 * in a batch when some of them call a scorer that returns immediately, and is negligible compared with model latency.
 */
const turns = 10;

/**
 * Batches policy calls: requests made at the same time are sent together, at most `limit` per call. An invalid reply
 * fails each of its requests; a rejection ends the search.
 */
export class PolicyQueue {
	readonly #policy: Policy;
	readonly #limit: number;
	#waiting: Waiting[] = [];
	readonly #underWay = new Set<Deferred<Generated>>();
	#scheduled = false;
	#stopped: SearchStop | null = null;

	constructor(policy: Policy, limit: number) {
		this.#policy = policy;
		this.#limit = limit;
	}

	submit(request: GenerateRequest): Promise<Generated> {
		if (this.#stopped !== null) return Promise.reject(this.#stopped);
		const answer = deferred<Generated>();
		this.#waiting.push({ request, answer });
		this.#schedule();
		return answer.promise;
	}

	/** Rejects waiting and future requests; later replies from the policy are discarded. */
	stop(stop: SearchStop): void {
		this.#stopped ??= stop;
		const left = [...this.#underWay, ...this.#waiting.splice(0).map(({ answer }) => answer)];
		this.#underWay.clear();
		for (const answer of left) answer.reject(this.#stopped);
	}

	#schedule(): void {
		if (this.#scheduled || this.#waiting.length === 0 || this.#underWay.size >= this.#limit) return;
		this.#scheduled = true;
		void this.#flush();
	}

	async #flush(): Promise<void> {
		for (let i = 0; i < (this.#limit === 1 ? 1 : turns); i++) await null;
		this.#scheduled = false;
		const batch = this.#waiting.splice(0, this.#limit - this.#underWay.size);
		if (batch.length === 0) return;
		for (const { answer } of batch) this.#underWay.add(answer);
		try {
			const answers = await this.#policy.generate(batch.map(({ request }) => request));
			for (const [i, { answer }] of batch.entries()) {
				if (!this.#underWay.delete(answer)) continue;
				answer.resolve(answers?.[i] ?? new Failure('invalid', 'The policy returned no reply for a request.'));
			}
		} catch (error) {
			if (error instanceof SearchStop) {
				this.stop(error);
				return;
			}
			const failure = Failure.from(error, `Policy ${this.#policy.name} failed`);
			this.stop(new SearchStop(failure.reason === 'cancelled' ? 'stopped' : 'policy', failure.toString()));
		}
		this.#schedule();
	}
}
