import type { ModelShape } from '../../shared/modelShape.ts';
import type { Dialect } from '../onnx/dialect.ts';
import { causalMask } from './causalMask.ts';
import { compactInputs } from './compactLayout.ts';
import type {
	GradientJob,
	LatentGradientJob,
	LatentSequences,
	LogprobsJob,
	PackedSequences,
	PaddedSequences,
	ValueGradientJob,
	ValuesJob,
} from './jobs.ts';
import { latentInputs } from './latentLayout.ts';
import { type PlainInput, packedInputs } from './packedLayout.ts';
import type { Feeds, Tensor, Tensors } from './runtime.ts';

/** Builds program inputs from jobs, excluding the weights. */
export class ProgramFeeds {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #expandsBatches: boolean;

	/** @param dialect dialect of the programs */
	constructor(shape: ModelShape, tensors: Tensors, { expandsBatches }: Pick<Dialect, 'expandsBatches'>) {
		this.#shape = shape;
		this.#tensors = tensors;
		this.#expandsBatches = expandsBatches;
	}

	/** Returns the inputs that describe a packed micro-batch. */
	#packed(batch: PackedSequences): Feeds {
		const { heads } = this.#shape;
		return this.#plain(this.#expandsBatches ? compactInputs(batch, heads) : packedInputs(batch, heads));
	}

	/** Returns the inputs for the `logprobs` and `distribution` programs. */
	logprobs(job: Pick<LogprobsJob | GradientJob, 'batch' | 'temperature'>): Feeds {
		return { 'inverse temperature': this.#scalar(1 / job.temperature), ...this.#packed(job.batch) };
	}

	/** @param teacher the teacher's distributions, if the job needs them */
	gradient(job: GradientJob, teacher: Float32Array<ArrayBuffer> | null): Feeds {
		const { rows, kept, own } = job.batch;
		const feeds = this.logprobs(job);
		for (const [name, values] of Object.entries(job.perToken)) feeds[name] = this.#tensors.float(values, [rows, kept]);
		for (const [name, values] of Object.entries(job.perRow)) feeds[name] = this.#tensors.float(values, [rows, 1]);
		for (const [name, value] of Object.entries(job.scalars)) feeds[name] = this.#scalar(value);
		if (teacher !== null) feeds.teacher = this.#tensors.float(teacher, [own, this.#shape.vocabulary]);
		return feeds;
	}

	/** Returns the inputs of the prefill program for prompts with thoughts. */
	latentPrefill(batch: LatentSequences): Feeds {
		const { rows, after, laterLengths } = batch;
		const last = Int32Array.from(laterLengths, (length, r) => r * after + length - 1);
		return { ...this.#plain(latentInputs(batch)), last: this.#tensors.int32(last, [rows]) };
	}

	latentGradient({ batch, tokenWeights }: LatentGradientJob): Feeds {
		const { rows, after, targets } = batch;
		return {
			...this.#plain(latentInputs(batch)),
			targets: this.#tensors.int32(targets, [rows, after]),
			weights: this.#tensors.float(tokenWeights, [rows, after]),
		};
	}

	values({ batch, surprises }: Pick<ValuesJob | ValueGradientJob, 'batch' | 'surprises'>): Feeds {
		return {
			...this.#sequences(batch),
			surprises: this.#tensors.float(surprises, [batch.rows, batch.tokens, 1]),
		};
	}

	valueGradient(job: ValueGradientJob): Feeds {
		const { rows, tokens } = job.batch;
		const feeds = this.values(job);
		for (const [name, values] of Object.entries(job.perToken)) {
			feeds[name] = this.#tensors.float(values, [rows, tokens]);
		}
		for (const [name, value] of Object.entries(job.scalars)) feeds[name] = this.#scalar(value);
		return feeds;
	}

	/**
	 * Returns the inputs for the `prefill` program.
	 * @param prompts unpadded prompts
	 */
	prefill(prompts: readonly Int32Array[]): Feeds {
		const rows = prompts.length;
		const tokens = prompts.reduce((n, prompt) => Math.max(n, prompt.length), 0);
		const inputs = new Int32Array(rows * tokens);
		const last = new Int32Array(rows);
		for (const [row, prompt] of prompts.entries()) {
			inputs.set(prompt, row * tokens);
			last[row] = row * tokens + prompt.length - 1;
		}
		return { ...this.#sequences({ rows, tokens, inputs }), last: this.#tensors.int32(last, [rows]) };
	}

	#sequences({ rows, tokens, inputs }: PaddedSequences): Feeds {
		return {
			tokens: this.#tensors.int32(inputs, [rows, tokens]),
			mask: this.#tensors.float(causalMask(tokens), [tokens, tokens]),
		};
	}

	#plain(inputs: Readonly<Record<string, PlainInput>>): Feeds {
		const feeds: Feeds = {};
		for (const [name, { shape, values }] of Object.entries(inputs)) {
			feeds[name] =
				values instanceof Float32Array
					? this.#tensors.float(values, shape)
					: values instanceof Int32Array
						? this.#tensors.int32(values, shape)
						: this.#tensors.int64(values, shape);
		}
		return feeds;
	}

	#scalar(value: number): Tensor {
		return this.#tensors.float(Float32Array.of(value), []);
	}
}
