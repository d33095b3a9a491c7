import { type Deferred, deferred } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { Generated, GenerateRequest, Policy } from './policy.ts';
import { SearchStop } from './searchStop.ts';

interface Waiting {
	readonly request: GenerateRequest;
	readonly answer: Deferred<Generated>;
}

/**
 * Microtasks that a call waits for others to join it: about as many as a batch's operators are apart when some of them ask a
 * scorer that answers at once. Against the time of a model they are nothing.
 */
const turns = 10;

/**
 * Calls of the policy: requests that are made together go together, at most `limit` of them at a time. A policy that
 * answers nonsense is answered for with failures, one that rejects ends the search.
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

	/** Everybody who waits is told, and nobody can ask any more; what the policy still says is dropped. */
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
				answer.resolve(answers?.[i] ?? new Failure('invalid', 'The policy did not answer a request.'));
			}
		} catch (error) {
			const failure = Failure.from(error, `The policy ${this.#policy.name} failed`);
			this.stop(new SearchStop(failure.reason === 'cancelled' ? 'stopped' : 'policy', failure.toString()));
		}
		this.#schedule();
	}
}
