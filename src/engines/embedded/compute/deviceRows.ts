import { Random } from '../../../base/random.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { SampleJob, SampleResult } from './jobs.ts';
import { resultOf, TokenRecord } from './tokenRecord.ts';

/** Tokens that a device has chosen over several steps. Arrays have the shape [lines, steps]. */
export interface ChosenTokens {
	readonly steps: number;
	readonly tokens: Int32Array;
	readonly logprobs: Float32Array;
	readonly entropies: Float32Array;
}

/** Noise just below 1 could round to a number that no cumulative probability exceeds. */
const noiseScale = 1 - 2 ** -18;

/** Finished lines are removed once they make up this fraction of all lines. Removing them copies the cache. */
const finishedShare = 1 / 4;

/**
 * Rows of a micro-batch whose tokens a device chooses. Each unfinished row has a line on the device; finished rows keep
 * theirs until the lines are rearranged, and tokens chosen for them are discarded.
 */
export class DeviceRows {
	readonly #job: SampleJob;
	readonly #streams: readonly Random[];
	readonly #stop: ReadonlySet<number>;
	readonly #completions: readonly TokenRecord[];
	/** Number of tokens in each row's prompt, and maximum number of completion tokens. */
	readonly #prompts: readonly number[];
	readonly #limits: readonly number[];
	readonly #finished: boolean[];
	/** Job row of each line. */
	#lines: number[];
	/** Index of each line before the next rearrangement: initially the index of its prompt, later the line's own index. */
	#sources: number[];
	#arranged = false;

	constructor(shape: ModelShape, job: SampleJob) {
		this.#job = job;
		this.#streams = job.seeds.map((seed) => Random.of(seed));
		this.#stop = new Set(job.stop);
		this.#completions = job.seeds.map(() => new TokenRecord());
		this.#prompts = Array.from(job.promptOf, (prompt) => job.prompts[prompt]?.length ?? 0);
		// At least one token is always chosen. The newest one has no position yet.
		this.#limits = this.#prompts.map((length, row) =>
			Math.max(1, Math.min(job.maxNewTokens[row] as number, shape.context - length)),
		);
		this.#finished = job.seeds.map(() => false);
		this.#lines = job.seeds.map((_, row) => row);
		this.#sources = [...job.promptOf];
	}

	get lines(): number {
		return this.#lines.length;
	}

	get done(): boolean {
		return this.#finished.every(Boolean);
	}

	/** Maximum number of tokens that any unfinished row can still generate. */
	get left(): number {
		return this.#most((row) => (this.#limits[row] as number) - this.#length(row));
	}

	/** Whether enough lines are finished to remove them. */
	get sparse(): boolean {
		if (!this.#arranged) return true;
		const finished = this.#lines.filter((row) => this.#finished[row]).length;
		return finished > 0 && finished >= finishedShare * this.lines;
	}

	/** Returns uniform random numbers for the next step: [lines]. */
	noise(): Float32Array<ArrayBuffer> {
		return Float32Array.from(this.#lines, (row) => {
			if (this.#finished[row] || this.#job.temperature === 0) return 0;
			return (this.#streams[row] as Random).next() * noiseScale;
		});
	}

	/** Records the chosen tokens, and finishes rows that end. */
	take({ steps, tokens, logprobs, entropies }: ChosenTokens): void {
		for (const [line, row] of this.#lines.entries()) {
			for (let s = line * steps; s < (line + 1) * steps && !this.#finished[row]; s++) {
				const completion = this.#completions[row] as TokenRecord;
				const token = tokens[s] as number;
				completion.tokens.push(token);
				completion.logprobs.push(logprobs[s] as number);
				completion.entropies.push(entropies[s] as number);
				const stopped = this.#stop.has(token);
				completion.truncated = !stopped && completion.tokens.length >= (this.#limits[row] as number);
				this.#finished[row] = stopped || completion.truncated;
			}
		}
	}

	/** Removes the lines of finished rows. Returns the previous index of each remaining line. */
	arrange(): Int32Array {
		const kept = this.#lines.flatMap((row, line) => (this.#finished[row] ? [] : [line]));
		const sources = Int32Array.from(kept, (line) => this.#sources[line] as number);
		this.#lines = kept.map((line) => this.#lines[line] as number);
		this.#sources = this.#lines.map((_, line) => line);
		this.#arranged = true;
		return sources;
	}

	/** Number of tokens in the prompt of each line. */
	get promptLengths(): Int32Array {
		return Int32Array.from(this.#lines, (row) => this.#prompts[row] as number);
	}

	/** Newest token in each line, its position as the next input, and the last position that the line can reach. */
	get tokens(): Int32Array {
		return Int32Array.from(this.#lines, (row) => this.#completions[row]?.tokens.at(-1) as number);
	}

	get positions(): Int32Array {
		return Int32Array.from(this.#lines, (row) => this.#position(row));
	}

	get ends(): Int32Array {
		return Int32Array.from(this.#lines, (row) => (this.#prompts[row] as number) + (this.#limits[row] as number) - 1);
	}

	finish(): SampleResult {
		return resultOf(this.#completions, null);
	}

	#length(row: number): number {
		return this.#completions[row]?.tokens.length ?? 0;
	}

	/** The newest token is not in the cache yet. */
	#position(row: number): number {
		return (this.#prompts[row] as number) + this.#length(row) - 1;
	}

	#most(value: (row: number) => number): number {
		return this.#lines.reduce((most, row) => (this.#finished[row] ? most : Math.max(most, value(row))), 0);
	}
}
