import type { ModelShape } from '../../shared/modelShape.ts';
import { residentName } from '../model/residentPrograms.ts';
import type { SampleJob, SampleResult } from './jobs.ts';
import type { ProgramFeeds } from './programFeeds.ts';
import type { Feeds, Session, Tensor, Tensors } from './runtime.ts';
import { data, partNames } from './sampler.ts';
import { type RowCache, SamplingBatch } from './samplingBatch.ts';

export interface ResidentSamplerSessions {
	/** Prefill program, whose cache outputs stay on the device. */
	readonly prefill: Session;
	readonly decode: Session;
	readonly layout: Session;
}

/**
 * The number of slots grows to a multiple of this many, and by at least half. Growing requires a copy of the cache, but
 * unused slots slow down every step.
 */
const slotStep = 32;
const growth = 1.5;

/** Tracks which row of the cache on the device each row comes from, until the cache is rearranged. */
class RowSources implements RowCache {
	#sources: number[] = [];
	#changed = true;

	/** Whether rows were added, removed or moved since the last call to `take`. */
	get changed(): boolean {
		return this.#changed;
	}

	reset(rows: number): void {
		this.#sources = new Array(rows).fill(0);
		this.#changed = true;
	}

	fill(row: number, prompt: number): void {
		this.#sources[row] = prompt;
	}

	reveal(): void {}

	remove(row: number): void {
		const last = this.#sources.pop() as number;
		if (row < this.#sources.length) this.#sources[row] = last;
		this.#changed = true;
	}

	double(row: number): number {
		this.#changed = true;
		return this.#sources.push(this.#sources[row] as number) - 1;
	}

	/** Returns the sources. Afterward, rows refer to the rearranged cache. */
	take(): Int32Array {
		const sources = Int32Array.from(this.#sources);
		this.#sources = this.#sources.map((_, row) => row);
		this.#changed = false;
		return sources;
	}
}

/**
 * Samples one micro-batch like `Sampler`, but with the key-value cache in device memory. Each step uploads a token and
 * a position per row, and downloads the logits.
 */
export class ResidentSampler {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #feeds: ProgramFeeds;
	readonly #sessions: ResidentSamplerSessions;
	readonly #names: readonly string[];

	constructor(shape: ModelShape, tensors: Tensors, feeds: ProgramFeeds, sessions: ResidentSamplerSessions) {
		this.#shape = shape;
		this.#tensors = tensors;
		this.#feeds = feeds;
		this.#sessions = sessions;
		this.#names = partNames(shape);
	}

	/** @param weights parameters by name, on the device */
	async run(job: SampleJob, weights: Feeds): Promise<SampleResult> {
		const rows = new RowSources();
		const batch = new SamplingBatch(this.#shape, job, rows);
		const prompts = this.#feeds.prefill(job.prompts);
		const prefilled = await this.#sessions.prefill.run({ ...weights, ...prompts });
		const cache = new DeviceCache(this.#names, prefilled, prompts.tokens?.dims[1] ?? 0);
		try {
			batch.start(data(prefilled.logits));
			let feeds: Feeds = {};
			while (batch.lines > 0) {
				const grows = batch.longest >= cache.slots;
				if (rows.changed || grows) {
					const slots = grows ? this.#slotsFor(batch.longest + 1, cache.slots) : cache.slots;
					await this.#arrange(cache, rows.take(), slots);
					const { lines } = batch;
					feeds = {
						tokens: this.#tensors.int32(batch.tokens.subarray(0, lines), [lines, 1]),
						positions: this.#tensors.int32(batch.lengths.subarray(0, lines), [lines, 1]),
						slots: this.#tensors.int32(
							Int32Array.from({ length: slots }, (_, slot) => slot),
							[slots],
						),
					};
				}
				const results = await this.#sessions.decode.run({ ...weights, ...cache.feeds, ...feeds });
				cache.replace(results, cache.slots);
				batch.step(data(results.logits));
			}
		} finally {
			cache.dispose();
		}
		return batch.finish();
	}

	#slotsFor(needed: number, before: number): number {
		const more = Math.max(needed, Math.ceil(before * growth));
		return Math.min(this.#shape.context, Math.ceil(more / slotStep) * slotStep);
	}

	async #arrange(cache: DeviceCache, source: Int32Array, slots: number): Promise<void> {
		const pads = BigInt64Array.of(0n, 0n, 0n, 0n, 0n, 0n, BigInt(slots - cache.slots), 0n);
		const results = await this.#sessions.layout.run({
			...cache.feeds,
			source: this.#tensors.int32(source, [source.length]),
			pads: this.#tensors.int64(pads, [8]),
		});
		cache.replace(results, slots);
	}
}

/**
 * Key-value cache on the device. The runtime allocates new tensors for every output, so each step replaces the cache.
 */
class DeviceCache {
	readonly #names: readonly string[];
	#feeds: Feeds;
	#slots: number;

	constructor(names: readonly string[], prefilled: Feeds, slots: number) {
		this.#names = names;
		this.#feeds = Object.fromEntries(names.map((name) => [name, prefilled[name] as Tensor]));
		this.#slots = slots;
	}

	get slots(): number {
		return this.#slots;
	}

	get feeds(): Feeds {
		return this.#feeds;
	}

	replace(results: Feeds, slots: number): void {
		this.dispose();
		this.#feeds = Object.fromEntries(this.#names.map((name) => [name, results[residentName(name)] as Tensor]));
		this.#slots = slots;
	}

	dispose(): void {
		for (const tensor of Object.values(this.#feeds)) tensor.dispose();
		this.#feeds = {};
	}
}
