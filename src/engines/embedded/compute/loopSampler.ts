import type { ModelShape } from '../../shared/modelShape.ts';
import { firstName, laterName } from '../model/loopProgram.ts';
import { chosenOutputs } from '../model/tokenChoice.ts';
import { type ChosenTokens, DeviceRows } from './deviceRows.ts';
import type { SampleJob, SampleResult } from './jobs.ts';
import type { ProgramFeeds } from './programFeeds.ts';
import type { Feeds, Session, Tensor, Tensors } from './runtime.ts';

/** The number of slots is a multiple of this number, so that batches of similar length have equal tensor sizes. */
const slotStep = 16;

/**
 * Samples one micro-batch in a single run of `loopProgram`. Chooses the same tokens as `Sampler`, up to rounding. For
 * devices that cannot keep tensors between runs.
 */
export class LoopSampler {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #feeds: ProgramFeeds;
	readonly #session: Session;

	constructor(shape: ModelShape, tensors: Tensors, feeds: ProgramFeeds, session: Session) {
		this.#shape = shape;
		this.#tensors = tensors;
		this.#feeds = feeds;
		this.#session = session;
	}

	/** @param weights parameters by name */
	async run(job: SampleJob, weights: Feeds): Promise<SampleResult> {
		const rows = new DeviceRows(this.#shape, job);
		const { lines, left: limit } = rows;
		const prompts = this.#feeds.prefill(job.prompts);
		const before = prompts.tokens?.dims[1] ?? 0;
		const slots = Math.min(this.#shape.context, Math.ceil((before + limit) / slotStep) * slotStep);
		const noise = new Float32Array(limit * lines);
		for (let draw = 0; draw < limit; draw++) noise.set(rows.noise(), draw * lines);
		const lengths = Int32Array.from(job.promptOf, (prompt) => job.prompts[prompt]?.length ?? 0);
		const results = await this.#session.run({
			...weights,
			...prompts,
			source: this.#tensors.int32(Int32Array.from(job.promptOf), [lines]),
			pads: this.#tensors.int64(BigInt64Array.of(0n, 0n, 0n, 0n, 0n, 0n, BigInt(slots - before), 0n), [8]),
			slots: this.#tensors.int32(
				Int32Array.from({ length: slots }, (_, slot) => slot),
				[slots],
			),
			positions: this.#tensors.int32(lengths, [lines, 1]),
			ends: this.#tensors.int32(rows.ends, [lines, 1]),
			noise: this.#tensors.float(noise, [limit, lines, 1]),
			'inverse temperature': this.#tensors.float(Float32Array.of(job.temperature === 0 ? 1 : 1 / job.temperature), []),
			stop: this.#tensors.int32(Int32Array.from(job.stop.length > 0 ? job.stop : [-1]), [Math.max(1, job.stop.length)]),
			steps: this.#tensors.int64(BigInt64Array.of(BigInt(limit - 1)), []),
		});
		const values = (names: readonly string[], steps: number) =>
			chosenOf(
				names.map((name) => results[name]),
				steps,
				lines,
			);
		rows.take(values(chosenOutputs.map(firstName), 1));
		const taken = results[laterName('tokens')]?.dims[0] ?? 0;
		if (taken > 0) rows.take(values(chosenOutputs.map(laterName), taken));
		return rows.finish();
	}
}

/** Returns outputs [steps, lines, 1] in the layout of `ChosenTokens`. */
function chosenOf(outputs: readonly (Tensor | undefined)[], steps: number, lines: number): ChosenTokens {
	const [tokens, logprobs, entropies] = outputs.map((output) => output?.data) as [
		Int32Array,
		Float32Array,
		Float32Array,
	];
	const byLine = <T extends Int32Array | Float32Array>(from: T, to: T): T => {
		for (let step = 0; step < steps; step++) {
			for (let line = 0; line < lines; line++) to[line * steps + step] = from[step * lines + line] as number;
		}
		return to;
	};
	return {
		steps,
		tokens: byLine(tokens, new Int32Array(tokens.length)),
		logprobs: byLine(logprobs, new Float32Array(logprobs.length)),
		entropies: byLine(entropies, new Float32Array(entropies.length)),
	};
}
