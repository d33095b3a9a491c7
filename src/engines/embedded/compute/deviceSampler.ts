import type { ModelShape } from '../../shared/modelShape.ts';
import { residentName } from '../model/residentName.ts';
import { choiceOutputs, heldOutputs, positionName, stepName } from '../model/residentPrograms.ts';
import { DeviceCache } from './deviceCache.ts';
import { DeviceRows } from './deviceRows.ts';
import type { SampleJob, SampleResult } from './jobs.ts';
import type { ProgramFeeds } from './programFeeds.ts';
import type { Feeds, Session, Tensor, Tensors } from './runtime.ts';

export interface DeviceSamplerSessions {
	/** All outputs stay on the device. */
	readonly prefill: Session;
	readonly first: Session;
	readonly decode: Session;
	readonly layout: Session;
	readonly hold: Session;
	/** Returns the program that computes the position embeddings for the given number of steps. */
	readonly positions: (steps: number) => Promise<Session>;
	/** Returns the program that collects the results of the given number of steps. */
	readonly collect: (steps: number) => Promise<Session>;
}

/** Maximum number of steps before the host reads the tokens. Up to this many steps are wasted after a row ends. */
const stepsPerLook = 8;

/** Returns whether a device can choose a job's tokens: true if only tokens are requested and top-p excludes none. */
export function isChosenOnDevice({ topP, alternatives }: SampleJob): boolean {
	return topP >= 1 && alternatives === null;
}

/**
 * Samples one micro-batch on a device. The device also chooses the tokens, using the same random numbers as the host,
 * so both choose the same tokens up to rounding. Each step uploads one random number per row. Every few steps, the
 * tokens are downloaded with their log-probabilities and entropies.
 */
export class DeviceSampler {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #feeds: ProgramFeeds;
	readonly #sessions: DeviceSamplerSessions;

	constructor(shape: ModelShape, tensors: Tensors, feeds: ProgramFeeds, sessions: DeviceSamplerSessions) {
		this.#shape = shape;
		this.#tensors = tensors;
		this.#feeds = feeds;
		this.#sessions = sessions;
	}

	/** @param weights parameters by name, on the device */
	async run(job: SampleJob, weights: Feeds): Promise<SampleResult> {
		const rows = new DeviceRows(this.#shape, job);
		const inverse = this.#tensors.float(Float32Array.of(job.temperature === 0 ? 1 : 1 / job.temperature), []);
		const prompts = this.#feeds.prefill(job.prompts);
		const prefilled = await this.#sessions.prefill.run({ ...weights, ...prompts });
		const slots = prompts.tokens?.dims[1] ?? 0;
		const cache = new DeviceCache(this.#shape, this.#tensors, this.#sessions.layout, { tensors: prefilled, slots });
		const logits = prefilled.logits as Tensor;
		/** Results of the newest step, whose tokens are the inputs to the next one. */
		let newest: Feeds = {};
		let held: Feeds = {};
		let embeddings: Feeds = {};
		try {
			const source = this.#tensors.int32(Int32Array.from(job.promptOf), [rows.lines]);
			newest = await this.#sessions.first.run({ logits, source, ...this.#noise(rows), 'inverse temperature': inverse });
			await this.#look([newest], rows);
			/** Number of steps since the last rearrangement. */
			let taken = 0;
			while (!rows.done) {
				if (rows.sparse) {
					const source = rows.arrange();
					await cache.arrange(source, rows.promptLengths, rows.left);
					const before = held;
					held = await this.#hold(rows, weights, inverse);
					disposeAll(before);
					taken = 0;
				}
				const count = Math.min(stepsPerLook, rows.left);
				const before = embeddings;
				embeddings = await this.#positions(held, weights, taken, count);
				disposeAll(before);
				const steps: Feeds[] = [];
				for (let step = 0; step < count; step++) {
					const results = await this.#sessions.decode.run({
						...weights,
						...cache.feeds,
						tokens: (taken === 0 ? held.tokens : (steps.at(-1) ?? newest)[residentName('tokens')]) as Tensor,
						'position embeddings': embeddings[residentName(positionName(step))] as Tensor,
						'scaled norm': held['scaled norm'] as Tensor,
						...this.#noise(rows),
					});
					cache.append(results);
					steps.push(results);
					taken++;
				}
				await this.#look(steps, rows);
				for (const results of [newest, ...steps.slice(0, -1)]) disposeChoice(results);
				newest = steps.at(-1) as Feeds;
			}
		} finally {
			disposeChoice(newest);
			disposeAll(held);
			disposeAll(embeddings);
			logits.dispose();
			cache.dispose();
		}
		return rows.finish();
	}

	/** Uploads what stays the same until the next rearrangement. */
	async #hold(rows: DeviceRows, weights: Feeds, inverse: Tensor): Promise<Feeds> {
		const line = (values: Int32Array) => this.#tensors.int32(values, [values.length, 1]);
		const results = await this.#sessions.hold.run({
			tokens: line(rows.tokens),
			positions: line(rows.positions),
			ends: line(rows.ends),
			norm: weights.norm as Tensor,
			'inverse temperature': inverse,
		});
		return Object.fromEntries(heldOutputs.map((name) => [name, results[residentName(name)] as Tensor]));
	}

	/** Returns the position embeddings of the next `count` steps. */
	async #positions(held: Feeds, weights: Feeds, taken: number, count: number): Promise<Feeds> {
		const program = await this.#sessions.positions(count);
		return program.run({
			positions: held.positions as Tensor,
			ends: held.ends as Tensor,
			taken: this.#tensors.int32(Int32Array.of(taken), []),
			'embedding.positions': weights['embedding.positions'] as Tensor,
		});
	}

	#noise(rows: DeviceRows): Feeds {
		return { noise: this.#tensors.float(rows.noise(), [rows.lines, 1]) };
	}

	/** Downloads the tokens chosen in the given steps. */
	async #look(steps: readonly Feeds[], rows: DeviceRows): Promise<void> {
		const feeds = steps.flatMap((results, step) =>
			choiceOutputs.map((name): [string, Tensor] => [stepName(name, step), results[residentName(name)] as Tensor]),
		);
		const collect = await this.#sessions.collect(steps.length);
		const { tokens, logprobs, entropies } = await collect.run(Object.fromEntries(feeds));
		rows.take({
			steps: steps.length,
			tokens: tokens?.data as Int32Array,
			logprobs: logprobs?.data as Float32Array,
			entropies: entropies?.data as Float32Array,
		});
	}
}

function disposeAll(feeds: Feeds): void {
	for (const tensor of Object.values(feeds)) tensor.dispose();
}

function disposeChoice(results: Feeds): void {
	for (const name of choiceOutputs) results[residentName(name)]?.dispose();
}
