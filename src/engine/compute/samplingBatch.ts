import { Random } from '../../base/random.ts';
import type { ModelShape } from '../learner.ts';
import type { SampleJob, SampleResult } from './jobs.ts';
import type { KeyValueCache } from './keyValueCache.ts';
import { TokenChooser } from './tokenChooser.ts';
import { spreadFields, TokenRecord } from './tokenRecord.ts';

/** What reading the prompts gave. */
export interface Prefilled {
	/** [prompts, vocabulary] */
	readonly logits: Float32Array;
	/** Cache entries of the prompts in the order of the parts of a {@link KeyValueCache}: [prompts, heads, tokens, headWidth]. */
	readonly parts: readonly Float32Array[];
	readonly tokens: number;
}

/** The rows of a micro-batch while they grow. The first `rows` entries of the arrays are those that are not finished. */
export class SamplingBatch {
	/** Newest token of each unfinished row: the next input. */
	readonly tokens: Int32Array;
	/** Tokens in the cache of each unfinished row: the position of the next input. */
	readonly lengths: Int32Array;
	readonly cache: KeyValueCache;
	readonly #shape: ModelShape;
	readonly #job: SampleJob;
	readonly #chooser: TokenChooser;
	readonly #streams: Random[];
	readonly #stop: ReadonlySet<number>;
	/** Which row of the job each unfinished row is. */
	readonly #origin: number[];
	readonly #completions: TokenRecord[];

	constructor(shape: ModelShape, job: SampleJob, cache: KeyValueCache) {
		const count = job.seeds.length;
		const longest = job.prompts.reduce((n, prompt) => Math.max(n, prompt.length), 0);
		this.#shape = shape;
		this.#job = job;
		this.#chooser = new TokenChooser(shape.vocabulary, job.temperature, job.topP);
		this.#streams = job.seeds.map((seed) => Random.of(seed));
		this.#stop = new Set(job.stop);
		this.#origin = job.seeds.map((_, row) => row);
		this.#completions = job.seeds.map(() => new TokenRecord());
		this.tokens = new Int32Array(count);
		this.lengths = Int32Array.from(job.promptOf, (prompt) => job.prompts[prompt]?.length ?? 0);
		this.cache = cache;
		cache.reset(count, longest);
	}

	get rows(): number {
		return this.#origin.length;
	}

	/** Tokens in the longest unfinished row. */
	get longest(): number {
		let longest = 0;
		for (let row = 0; row < this.rows; row++) longest = Math.max(longest, this.lengths[row] as number);
		return longest;
	}

	/** First tokens, from the prompts' own logits. */
	start(prefilled: Prefilled): void {
		for (let row = this.rows - 1; row >= 0; row--) {
			const prompt = this.#job.promptOf[row] as number;
			const length = this.lengths[row] as number;
			prefilled.parts.forEach((part, i) => {
				this.cache.fill(row, i, part, prompt, prefilled.tokens, length);
			});
		}
		for (let row = this.rows - 1; row >= 0; row--) {
			const prompt = this.#job.promptOf[row] as number;
			if (this.#take(row, prefilled.logits, prompt * this.#shape.vocabulary)) this.#remove(row);
		}
	}

	/** Next tokens of all rows, whose new cache entries have been appended; rows that end leave. */
	step(logits: Float32Array): void {
		this.cache.reveal(this.lengths);
		// From the last to the first, so that the row that takes a leaving row's place has had its turn.
		for (let row = this.rows - 1; row >= 0; row--) {
			this.lengths[row] = (this.lengths[row] as number) + 1;
			if (this.#take(row, logits, row * this.#shape.vocabulary)) this.#remove(row);
		}
	}

	/** Draws the next token of a row; true if it is the row's last. */
	#take(row: number, logits: Float32Array, offset: number): boolean {
		const origin = this.#origin[row] as number;
		const completion = this.#completions[origin];
		if (completion === undefined) throw new RangeError(`No row ${origin}`);
		const chooser = this.#chooser;
		chooser.choose(logits, offset, this.#streams[origin] as Random);
		completion.add(chooser, this.#job.alternatives);
		this.tokens[row] = chooser.token;
		if (this.#stop.has(chooser.token)) return true;
		// The newest token is not in the cache yet: a row is full when it and its successors have no position left.
		const full = (this.lengths[row] as number) + 1 >= this.#shape.context;
		completion.truncated = full || completion.tokens.length >= (this.#job.maxNewTokens[origin] as number);
		return completion.truncated;
	}

	#remove(row: number): void {
		const last = this.rows - 1;
		this.cache.remove(row);
		this.tokens[row] = this.tokens[last] as number;
		this.lengths[row] = this.lengths[last] as number;
		this.#origin[row] = this.#origin[last] as number;
		this.#origin.pop();
	}

	finish(): SampleResult {
		const all = this.#completions;
		const total = all.reduce((n, c) => n + c.tokens.length, 0);
		const tokens = new Int32Array(total);
		const logprobs = new Float32Array(total);
		const entropies = new Float32Array(total);
		const { alternatives } = this.#job;
		const tops = alternatives ?? 0;
		const spreads = new Float32Array(alternatives === null ? 0 : total * spreadFields);
		const topTokens = new Int32Array(total * tops);
		const topLogprobs = new Float32Array(total * tops);
		let offset = 0;
		for (const completion of all) {
			tokens.set(completion.tokens, offset);
			logprobs.set(completion.logprobs, offset);
			entropies.set(completion.entropies, offset);
			if (alternatives !== null) {
				spreads.set(completion.spreads, offset * spreadFields);
				topTokens.set(completion.topTokens, offset * tops);
				topLogprobs.set(completion.topLogprobs, offset * tops);
			}
			offset += completion.tokens.length;
		}
		return {
			lengths: Int32Array.from(all, (c) => c.tokens.length),
			tokens,
			logprobs,
			entropies,
			truncated: Uint8Array.from(all, (c) => (c.truncated ? 1 : 0)),
			spreads,
			topTokens,
			topLogprobs,
		};
	}
}
