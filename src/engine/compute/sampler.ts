import { Random } from '../../base/random.ts';
import type { ModelShape } from '../learner.ts';
import { cacheName } from '../model/programs.ts';
import { causalMask } from './causalMask.ts';
import type { SampleJob, SampleResult } from './jobs.ts';
import { KeyValueCache } from './keyValueCache.ts';
import type { Feeds, Session, Tensor, Tensors } from './runtime.ts';
import { TokenChooser } from './tokenChooser.ts';

export interface SamplerSessions {
	readonly prefill: Session;
	readonly decode: Session;
}

interface Prefilled {
	/** [prompts, vocabulary] */
	readonly logits: Float32Array;
	/** Cache entries of the prompts in the order of the parts of a {@link KeyValueCache}: [prompts, heads, tokens, headWidth]. */
	readonly parts: readonly Float32Array[];
	readonly tokens: number;
}

function data(tensor: Tensor | undefined): Float32Array {
	return tensor?.data as Float32Array;
}

function partNames(shape: ModelShape, prefix = ''): string[] {
	return Array.from({ length: shape.layers }, (_, layer) => [
		`${prefix}${cacheName('keys', layer)}`,
		`${prefix}${cacheName('values', layer)}`,
	]).flat();
}

/**
 * Samples one micro-batch. Each distinct prompt is read once; then all rows take a token per step, and a row that ends
 * leaves the batch. A row's completion is a matter of its prompt, its seed and the weights (up to rounding).
 */
export class Sampler {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #sessions: SamplerSessions;
	readonly #cache: KeyValueCache;

	constructor(shape: ModelShape, tensors: Tensors, sessions: SamplerSessions) {
		this.#shape = shape;
		this.#tensors = tensors;
		this.#sessions = sessions;
		this.#cache = new KeyValueCache(shape.layers, shape.heads, shape.width / shape.heads);
	}

	/** `weights`: the parameters by name. */
	async run(job: SampleJob, weights: Feeds): Promise<SampleResult> {
		const prefilled = await this.#prefill(job.prompts, weights);
		const batch = new SamplingBatch(this.#shape, job, this.#cache);
		batch.start(prefilled);
		const names = partNames(this.#shape);
		const newNames = partNames(this.#shape, 'new ');
		const headWidth = this.#shape.width / this.#shape.heads;
		let feeds: Feeds = {};
		let fetches: Record<string, Tensor> = {};
		let rows = 0;
		while (batch.rows > 0) {
			const grown = batch.cache.grow(batch.longest);
			if (grown || batch.rows !== rows) {
				rows = batch.rows;
				const { slots } = batch.cache;
				feeds = {
					...weights,
					tokens: this.#tensors.int32(batch.tokens.subarray(0, rows), [rows, 1]),
					positions: this.#tensors.int32(batch.lengths.subarray(0, rows), [rows, 1]),
					mask: this.#tensors.float(batch.cache.mask, [rows, 1, 1, slots]),
				};
				const cacheShape = [rows, this.#shape.heads, slots, headWidth];
				names.forEach((name, i) => {
					feeds[name] = this.#tensors.float(batch.cache.part(i), cacheShape);
				});
				fetches = this.#fetches(newNames, rows, headWidth);
			}
			await this.#sessions.decode.run(feeds, fetches);
			newNames.forEach((name, i) => {
				batch.cache.append(i, data(fetches[name]), batch.lengths);
			});
			batch.step(data(fetches.logits));
		}
		return batch.finish();
	}

	/** Arrays that the decode program writes into, so that it allocates none. */
	#fetches(newNames: readonly string[], rows: number, headWidth: number): Record<string, Tensor> {
		const { vocabulary, heads, width } = this.#shape;
		const fetches: Record<string, Tensor> = {
			logits: this.#tensors.float(new Float32Array(rows * vocabulary), [rows, 1, vocabulary]),
		};
		for (const name of newNames) {
			fetches[name] = this.#tensors.float(new Float32Array(rows * width), [rows, heads, 1, headWidth]);
		}
		return fetches;
	}

	async #prefill(prompts: readonly Int32Array[], weights: Feeds): Promise<Prefilled> {
		const rows = prompts.length;
		const tokens = prompts.reduce((n, prompt) => Math.max(n, prompt.length), 0);
		const ids = new Int32Array(rows * tokens);
		const last = new Int32Array(rows);
		prompts.forEach((prompt, row) => {
			ids.set(prompt, row * tokens);
			last[row] = row * tokens + prompt.length - 1;
		});
		const results = await this.#sessions.prefill.run({
			...weights,
			tokens: this.#tensors.int32(ids, [rows, tokens]),
			last: this.#tensors.int32(last, [rows]),
			mask: this.#tensors.float(causalMask(tokens), [tokens, tokens]),
		});
		return {
			logits: data(results.logits),
			parts: partNames(this.#shape).map((name) => data(results[name])),
			tokens,
		};
	}
}

/** The rows of a micro-batch while they grow. The first `rows` entries of the arrays are those that are not finished. */
class SamplingBatch {
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
	readonly #completions: { tokens: number[]; logprobs: number[]; entropies: number[]; truncated: boolean }[];

	constructor(shape: ModelShape, job: SampleJob, cache: KeyValueCache) {
		const count = job.seeds.length;
		const longest = job.prompts.reduce((n, prompt) => Math.max(n, prompt.length), 0);
		this.#shape = shape;
		this.#job = job;
		this.#chooser = new TokenChooser(shape.vocabulary, job.temperature, job.topP);
		this.#streams = job.seeds.map((seed) => Random.of(seed));
		this.#stop = new Set(job.stop);
		this.#origin = job.seeds.map((_, row) => row);
		this.#completions = job.seeds.map(() => ({ tokens: [], logprobs: [], entropies: [], truncated: false }));
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
		completion.tokens.push(chooser.token);
		completion.logprobs.push(chooser.logprob);
		completion.entropies.push(chooser.entropy);
		this.tokens[row] = chooser.token;
		if (this.#stop.has(chooser.token)) return true;
		// The newest token is not in the cache yet: a row is full when it and its successors have no position left.
		const full = (this.lengths[row] as number) + 1 >= this.#shape.context;
		completion.truncated = full || completion.tokens.length >= this.#job.maxNewTokens;
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
		return {
			lengths: Int32Array.from(all, (c) => c.tokens.length),
			tokens: Int32Array.from(all.flatMap((c) => c.tokens)),
			logprobs: Float32Array.from(all.flatMap((c) => c.logprobs)),
			entropies: Float32Array.from(all.flatMap((c) => c.entropies)),
			truncated: Uint8Array.from(all, (c) => (c.truncated ? 1 : 0)),
		};
	}
}
