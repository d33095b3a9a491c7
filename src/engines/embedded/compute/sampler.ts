import type { LatentPlaces } from '../../../core/text/latentTags.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { ThoughtReading } from '../learner.ts';
import { cacheName } from '../model/programs.ts';
import type { SampleJob, SampleResult } from './jobs.ts';
import { KeyValueCache } from './keyValueCache.ts';
import { alignLeft, packThinking, tokensOf } from './latentLayout.ts';
import type { ProgramFeeds } from './programFeeds.ts';
import type { Feeds, Session, Tensor, Tensors } from './runtime.ts';
import { SamplingBatch } from './samplingBatch.ts';
import { readThoughts } from './thoughtReading.ts';

export interface SamplerSessions {
	readonly prefill: Session;
	readonly decode: Session;
}

/** Prompts whose entries are in the cache. */
interface Prefilled {
	/** [prompts, vocabulary] */
	readonly logits: Float32Array;
	/** One entry per prompt, if prompts have latent thoughts. */
	readonly thoughts?: readonly ThoughtReading[];
}

/** Returns the host data of a tensor. */
export function data(tensor: Tensor | undefined): Float32Array {
	return tensor?.data as Float32Array;
}

/** Names of the cache inputs or outputs. */
export function partNames(shape: ModelShape, prefix = ''): string[] {
	return Array.from({ length: shape.layers }, (_, layer) => [
		`${prefix}${cacheName('keys', layer)}`,
		`${prefix}${cacheName('values', layer)}`,
	]).flat();
}

/**
 * Samples one micro-batch. Prefills each distinct prompt once, then advances all rows by one token per step. Identical
 * rows are computed together, and finished rows are removed. A row's completion depends only on its prompt, its seed
 * and the weights (up to rounding).
 */
export class Sampler {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #feeds: ProgramFeeds;
	readonly #sessions: SamplerSessions;
	readonly #cache: KeyValueCache;

	constructor(shape: ModelShape, tensors: Tensors, feeds: ProgramFeeds, sessions: SamplerSessions) {
		this.#shape = shape;
		this.#tensors = tensors;
		this.#feeds = feeds;
		this.#sessions = sessions;
		this.#cache = new KeyValueCache(shape.layers, shape.heads, shape.width / shape.heads);
	}

	/** @param weights parameters by name */
	async run(job: SampleJob, weights: Feeds): Promise<SampleResult> {
		const prefilled = await (job.thoughts === undefined
			? this.#prefill(job.prompts, weights)
			: this.#think(job.prompts, job.thoughts, weights));
		const batch = new SamplingBatch(this.#shape, job, this.#cache);
		batch.start(prefilled.logits);
		const names = partNames(this.#shape);
		const newNames = partNames(this.#shape, 'new ');
		const headWidth = this.#shape.width / this.#shape.heads;
		const outputs = this.#outputs(newNames, job.seeds.length);
		let feeds: Feeds = {};
		let fetches: Record<string, Tensor> = {};
		let lines = 0;
		while (batch.lines > 0) {
			const grown = this.#cache.grow(batch.longest);
			if (grown || batch.lines !== lines) {
				lines = batch.lines;
				const { slots } = this.#cache;
				feeds = {
					...weights,
					tokens: this.#tensors.int32(batch.tokens.subarray(0, lines), [lines, 1]),
					positions: this.#tensors.int32(batch.lengths.subarray(0, lines), [lines, 1]),
					mask: this.#tensors.float(this.#cache.mask, [lines, 1, 1, slots]),
				};
				const cacheShape = [lines, this.#shape.heads, slots, headWidth];
				names.forEach((name, i) => {
					feeds[name] = this.#tensors.float(this.#cache.part(i), cacheShape);
				});
				fetches = this.#fetches(outputs, lines, headWidth);
			}
			await this.#sessions.decode.run(feeds, fetches);
			newNames.forEach((name, i) => {
				this.#cache.append(i, data(fetches[name]), batch.lengths);
			});
			batch.step(data(fetches.logits));
		}
		if (prefilled.thoughts === undefined) return batch.finish();
		const { thoughts } = prefilled;
		return { ...batch.finish(), thoughts: Array.from(job.promptOf, (prompt) => thoughts[prompt] as ThoughtReading) };
	}

	/** Returns preallocated outputs of the decode program for the given number of lines. */
	#outputs(newNames: readonly string[], lines: number): ReadonlyMap<string, Float32Array> {
		const { vocabulary, width } = this.#shape;
		return new Map([
			['logits', new Float32Array(lines * vocabulary)],
			...newNames.map((name): [string, Float32Array] => [name, new Float32Array(lines * width)]),
		]);
	}

	/** Returns the used parts as tensors. */
	#fetches(outputs: ReadonlyMap<string, Float32Array>, lines: number, headWidth: number): Record<string, Tensor> {
		const { vocabulary, heads, width } = this.#shape;
		const fetches: Record<string, Tensor> = {};
		for (const [name, array] of outputs) {
			fetches[name] =
				name === 'logits'
					? this.#tensors.float(array.subarray(0, lines * vocabulary), [lines, 1, vocabulary])
					: this.#tensors.float(array.subarray(0, lines * width), [lines, heads, 1, headWidth]);
		}
		return fetches;
	}

	/** Computes the prompts, and puts their entries in the cache. */
	async #prefill(prompts: readonly Int32Array[], weights: Feeds): Promise<Prefilled> {
		const feeds = this.#feeds.prefill(prompts);
		const results = await this.#sessions.prefill.run({ ...weights, ...feeds });
		const parts = partNames(this.#shape).map((name) => data(results[name]));
		this.#cache.load(parts, feeds.tokens?.dims[1] ?? 0);
		return { logits: data(results.logits) };
	}

	/** Like `#prefill`, for prompts with slots for latent thoughts. */
	async #think(prompts: readonly Int32Array[], places: LatentPlaces, weights: Feeds): Promise<Prefilled> {
		const batch = packThinking(prompts, places);
		const results = await this.#sessions.prefill.run({ ...weights, ...this.#feeds.latentPrefill(batch) });
		const { heads, width, vocabulary } = this.#shape;
		const parts = partNames(this.#shape).map((name) => alignLeft(data(results[name]), batch, heads, width / heads));
		this.#cache.load(parts, tokensOf(batch));
		return {
			logits: data(results.logits),
			thoughts: readThoughts(data(results['thought logits']), batch, vocabulary),
		};
	}
}
