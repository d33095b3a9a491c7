import { Random } from '../../../base/random.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { SampleJob, SampleResult } from './jobs.ts';
import { TokenChooser } from './tokenChooser.ts';
import { resultOf, TokenRecord } from './tokenRecord.ts';

/** Key-value cache whose rows start from prompts, are extended and duplicated, and are removed when they end. */
export interface RowCache {
	/**
	 * Starts a batch whose longest prompt has `longest` tokens.
	 * @param most maximum number of rows at a time in the batch
	 */
	reset(rows: number, most: number, longest: number): void;
	/** Copies the entries of a prompt with `length` tokens to a row. */
	fill(row: number, prompt: number, length: number): void;
	/** Makes the newest entry of each row, in slot lengths[row], visible. */
	reveal(lengths: Int32Array): void;
	/** Removes a row by moving the last row to its index. */
	remove(row: number): void;
	/** Duplicates a row. Returns the index of the copy. */
	double(row: number): number;
}

/**
 * State of a micro-batch's completions during sampling. Identical completions for a prompt share a line, which is
 * computed once and split where they diverge. The first `lines` entries in the arrays are unfinished.
 */
export class SamplingBatch {
	/** Newest token in each line, which is the next input. */
	readonly tokens: Int32Array;
	/** Number of cached tokens per line, which is the position of the next input. */
	readonly lengths: Int32Array;
	readonly #cache: RowCache;
	readonly #shape: ModelShape;
	readonly #job: SampleJob;
	readonly #chooser: TokenChooser;
	readonly #streams: Random[];
	readonly #stop: ReadonlySet<number>;
	/** Job rows represented by each line. */
	readonly #rows: number[][];
	/** Initial prompt for each line. */
	readonly #prompts: readonly number[];
	readonly #completions: TokenRecord[];

	constructor(shape: ModelShape, job: SampleJob, cache: RowCache) {
		const count = job.seeds.length;
		const longest = job.prompts.reduce((n, prompt) => Math.max(n, prompt.length), 0);
		this.#shape = shape;
		this.#job = job;
		this.#chooser = new TokenChooser(shape.vocabulary, job.temperature, job.topP);
		this.#streams = job.seeds.map((seed) => Random.of(seed));
		this.#stop = new Set(job.stop);
		this.#completions = job.seeds.map(() => new TokenRecord());
		const lines = new Map<number, number[]>();
		for (const [row, prompt] of job.promptOf.entries()) {
			const rows = lines.get(prompt);
			if (rows === undefined) lines.set(prompt, [row]);
			else rows.push(row);
		}
		this.#rows = [...lines.values()];
		this.#prompts = [...lines.keys()];
		this.tokens = new Int32Array(count);
		this.lengths = new Int32Array(count);
		for (const [line, prompt] of this.#prompts.entries()) this.lengths[line] = job.prompts[prompt]?.length ?? 0;
		this.#cache = cache;
		cache.reset(this.lines, count, longest);
	}

	get lines(): number {
		return this.#rows.length;
	}

	/** Number of tokens in the longest line. */
	get longest(): number {
		let longest = 0;
		for (let line = 0; line < this.lines; line++) longest = Math.max(longest, this.lengths[line] as number);
		return longest;
	}

	/** Samples the first tokens from the prompt logits, [prompts, vocabulary]. */
	start(logits: Float32Array): void {
		for (const [line, prompt] of this.#prompts.entries()) {
			this.#cache.fill(line, prompt, this.lengths[line] as number);
		}
		this.#advance(logits, (line) => this.#prompts[line] as number);
	}

	/** Samples the next token of each line, after the new cache entries have been appended. Removes finished lines. */
	step(logits: Float32Array): void {
		this.#cache.reveal(this.lengths);
		for (let line = 0; line < this.lines; line++) this.lengths[line] = (this.lengths[line] as number) + 1;
		this.#advance(logits, (line) => line);
	}

	/** @param place returns the index of a line's logits */
	#advance(logits: Float32Array, place: (line: number) => number): void {
		const lines = this.lines;
		const ended: number[] = [];
		for (let line = 0; line < lines; line++) {
			const branches = this.#branch(line, logits, place(line) * this.#shape.vocabulary);
			const [first, ...others] = branches;
			if (first === undefined) {
				ended.push(line);
				continue;
			}
			this.#rows[line] = first[1];
			this.tokens[line] = first[0];
			for (const [token, rows] of others) {
				const added = this.#cache.double(line);
				this.#rows[added] = rows;
				this.tokens[added] = token;
				this.lengths[added] = this.lengths[line] as number;
			}
		}
		// Go backward, so the line that replaces a finished one is unfinished.
		for (const line of ended.reverse()) this.#remove(line);
	}

	/** Samples the next token for each row in a line. Returns the tokens of unfinished rows, with their rows. */
	#branch(line: number, logits: Float32Array, offset: number): [number, number[]][] {
		const branches: [number, number[]][] = [];
		for (const row of this.#rows[line] as number[]) {
			if (this.#take(row, this.lengths[line] as number, logits, offset)) continue;
			const { token } = this.#chooser;
			const branch = branches.find(([other]) => other === token);
			if (branch === undefined) branches.push([token, [row]]);
			else branch[1].push(row);
		}
		return branches;
	}

	/**
	 * Samples the next token for a job row. Returns true if it is the row's last token.
	 * @param length number of cached tokens
	 */
	#take(row: number, length: number, logits: Float32Array, offset: number): boolean {
		const completion = this.#completions[row];
		if (completion === undefined) throw new RangeError(`No row ${row}`);
		const chooser = this.#chooser;
		chooser.choose(logits, offset, this.#streams[row] as Random);
		completion.add(chooser, this.#job.alternatives);
		if (this.#stop.has(chooser.token)) return true;
		// The newest token is not in the cache yet. The row is full if there is no position left for its next token.
		const full = length + 1 >= this.#shape.context;
		completion.truncated = full || completion.tokens.length >= (this.#job.maxNewTokens[row] as number);
		return completion.truncated;
	}

	#remove(line: number): void {
		const last = this.lines - 1;
		this.#cache.remove(line);
		this.tokens[line] = this.tokens[last] as number;
		this.lengths[line] = this.lengths[last] as number;
		this.#rows[line] = this.#rows[last] as number[];
		this.#rows.pop();
	}

	finish(): SampleResult {
		return resultOf(this.#completions, this.#job.alternatives);
	}
}
