import type { ModelShape } from '../../shared/modelShape.ts';
import { DeviceCache } from './deviceCache.ts';
import type { SampleJob, SampleResult } from './jobs.ts';
import type { ProgramFeeds } from './programFeeds.ts';
import type { Feeds, Session, Tensors } from './runtime.ts';
import { data } from './sampler.ts';
import { type RowCache, SamplingBatch } from './samplingBatch.ts';

export interface ResidentSamplerSessions {
	/** Prefill program, whose cache outputs stay on the device. */
	readonly prefill: Session;
	readonly decode: Session;
	readonly layout: Session;
}

/** Number of slots for which a rearrangement makes room. */
const moreSlots = 64;

/**
 * Tracks, for each row, the length of its prompt and the row of the device cache that it comes from, until the cache is
 * rearranged.
 */
class RowSources implements RowCache {
	#sources: number[] = [];
	#lengths: number[] = [];
	#changed = true;

	/** Whether rows were added, removed or moved since the last call to `take`. */
	get changed(): boolean {
		return this.#changed;
	}

	reset(rows: number): void {
		this.#sources = new Array(rows).fill(0);
		this.#lengths = new Array(rows).fill(0);
		this.#changed = true;
	}

	fill(row: number, prompt: number, length: number): void {
		this.#sources[row] = prompt;
		this.#lengths[row] = length;
	}

	reveal(): void {}

	remove(row: number): void {
		const [source, length] = [this.#sources.pop() as number, this.#lengths.pop() as number];
		if (row < this.#sources.length) {
			this.#sources[row] = source;
			this.#lengths[row] = length;
		}
		this.#changed = true;
	}

	double(row: number): number {
		this.#changed = true;
		this.#lengths.push(this.#lengths[row] as number);
		return this.#sources.push(this.#sources[row] as number) - 1;
	}

	/** Returns the sources and the prompt lengths. Afterward, rows refer to the rearranged cache. */
	take(): [sources: Int32Array, lengths: Int32Array] {
		const sources = Int32Array.from(this.#sources);
		this.#sources = this.#sources.map((_, row) => row);
		this.#changed = false;
		return [sources, Int32Array.from(this.#lengths)];
	}
}

/**
 * Samples one micro-batch like `Sampler`, but with the key-value cache in device memory. Each step uploads a token and
 * a position per row, and downloads the logits. Used for requests that need whole distributions (`DeviceSampler`).
 */
export class ResidentSampler {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #feeds: ProgramFeeds;
	readonly #sessions: ResidentSamplerSessions;

	constructor(shape: ModelShape, tensors: Tensors, feeds: ProgramFeeds, sessions: ResidentSamplerSessions) {
		this.#shape = shape;
		this.#tensors = tensors;
		this.#feeds = feeds;
		this.#sessions = sessions;
	}

	/** @param weights parameters by name, on the device */
	async run(job: SampleJob, weights: Feeds): Promise<SampleResult> {
		const rows = new RowSources();
		const batch = new SamplingBatch(this.#shape, job, rows);
		const prompts = this.#feeds.prefill(job.prompts);
		const prefilled = await this.#sessions.prefill.run({ ...weights, ...prompts });
		const cache = new DeviceCache(this.#shape, this.#tensors, this.#sessions.layout, {
			tensors: prefilled,
			slots: prompts.tokens?.dims[1] ?? 0,
		});
		try {
			batch.start(data(prefilled.logits));
			let feeds: Feeds = {};
			while (batch.lines > 0) {
				if (rows.changed || cache.full) {
					await cache.arrange(...rows.take(), moreSlots);
					const { lines } = batch;
					feeds = {
						tokens: this.#tensors.int32(batch.tokens.subarray(0, lines), [lines, 1]),
						positions: this.#tensors.int32(batch.lengths.subarray(0, lines), [lines, 1]),
					};
				}
				const results = await this.#sessions.decode.run({ ...weights, ...cache.feeds, ...feeds });
				cache.append(results);
				batch.step(data(results.logits));
			}
		} finally {
			cache.dispose();
		}
		return batch.finish();
	}
}
