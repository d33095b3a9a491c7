import { type Deferred, deferred } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import type { Learner, Sample, SampleRequest } from '../learner.ts';
import type { LearnerAccess } from './learnerAccess.ts';

/** Maximum number of rows sampled together. A larger request is processed alone. */
const maxRows = 1024;

/** A sampling request with a token limit for each row. */
export type RowRequest = Omit<SampleRequest, 'maxNewTokens'> & { readonly maxNewTokens: readonly number[] };

interface Waiting {
	readonly request: RowRequest;
	/** Batching key: requests with the same key can share a batch. */
	readonly kind: string;
	readonly signal: AbortSignal | undefined;
	readonly done: Deferred<Sample[]>;
}

/**
 * Batches sampling requests that are waiting for the learner and agree on temperature, top-p, stop tokens, detail and
 * latent thoughts.
 * Search issues many small requests concurrently, and decoding a batch takes little longer than decoding a single row.
 * Each row has its own random stream, so batching does not change results (up to rounding).
 */
export class SamplingQueue {
	readonly #learner: Learner;
	readonly #access: LearnerAccess;
	#waiting: Waiting[] = [];
	#scheduled = false;

	constructor(learner: Learner, access: LearnerAccess) {
		this.#learner = learner;
		this.#access = access;
	}

	sample(request: RowRequest, signal?: AbortSignal): Promise<Sample[]> {
		const { temperature, topP, stop, detail, thoughts } = request;
		const kind = JSON.stringify([temperature, topP ?? 1, stop ?? [], detail?.alternatives ?? null, thoughts ?? null]);
		const done = deferred<Sample[]>();
		this.#waiting.push({ request, kind, signal, done });
		this.#schedule();
		return done.promise;
	}

	#schedule(): void {
		if (this.#scheduled || this.#waiting.length === 0) return;
		this.#scheduled = true;
		this.#access(() => this.#next()).then(
			() => this.#again(),
			(error: unknown) => {
				for (const { done } of this.#waiting.splice(0)) done.reject(error);
				this.#scheduled = false;
			},
		);
	}

	#again(): void {
		this.#scheduled = false;
		this.#schedule();
	}

	async #next(): Promise<void> {
		await this.#gather();
		const batch = this.#take();
		if (batch.length === 0) return;
		try {
			const samples = await this.#learner.sample(merged(batch.map(({ request }) => request)));
			let start = 0;
			for (const { request, done } of batch) {
				const end = start + request.prompts.length;
				done.resolve(samples.slice(start, end));
				start = end;
			}
		} catch (error) {
			for (const { done } of batch) done.reject(error);
		}
	}

	/** Waits until requests that have already arrived are queued. Reading each one takes one event loop turn. */
	async #gather(): Promise<void> {
		for (let before = -1; this.#waiting.length > before; ) {
			before = this.#waiting.length;
			for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
		}
	}

	/** Removes and returns the first waiting request along with those that can share its batch. */
	#take(): Waiting[] {
		const gone = this.#waiting.filter(({ signal }) => signal?.aborted === true);
		for (const { done } of gone) done.reject(new Failure('cancelled', 'Canceled.'));
		const left = this.#waiting.filter(({ signal }) => signal?.aborted !== true);
		const batch: Waiting[] = [];
		const later: Waiting[] = [];
		let rows = 0;
		for (const waiting of left) {
			const size = waiting.request.prompts.length;
			const fits = batch.length === 0 || (waiting.kind === batch[0]?.kind && rows + size <= maxRows);
			(fits ? batch : later).push(waiting);
			if (fits) rows += size;
		}
		this.#waiting = later;
		return batch;
	}
}

function merged(requests: readonly RowRequest[]): SampleRequest {
	const first = requests[0] as RowRequest;
	return {
		...first,
		prompts: requests.flatMap(({ prompts }) => prompts),
		seeds: requests.flatMap(({ seeds }) => seeds),
		maxNewTokens: requests.flatMap(({ maxNewTokens }) => maxNewTokens),
	};
}
