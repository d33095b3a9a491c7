import { Failure } from '../../../base/failure.ts';
import type { HeadName } from '../../../protocol/control.ts';
import type { OptimizerSettings, PerToken, Sequence, ValueUpdateResult } from '../learner.ts';
import type { ValueOutput, ValueVariant } from '../model/programs.ts';
import { type MicroBatch, microBatches, pad } from './batching.ts';
import type { GradientTarget } from './jobs.ts';
import { type MicroBatchRows, sizesOf } from './microBatchRows.ts';
import { settled, type TrainedModel } from './trainedModel.ts';
import type { WorkerPool } from './workerPool.ts';

/** Writes each row's values, starting at its last prompt token, to [rows, tokens]. */
function packValues(
	rows: readonly Sequence[],
	values: (row: number) => PerToken,
	tokens: number,
): Float32Array<ArrayBuffer> {
	const packed = new Float32Array(rows.length * tokens);
	for (const [r, row] of rows.entries()) {
		const own = values(r);
		const length = row.tokens.length - row.promptLength + 1;
		if (own.length !== length) {
			throw new Failure('internal', `A completion has ${own.length} values instead of ${length}.`);
		}
		packed.set(own, r * tokens + row.promptLength - 1);
	}
	return packed;
}

/** Inverse of `packValues`. */
function unpackValues(packed: Float32Array, row: Sequence, index: number, tokens: number): PerToken {
	return packed.slice(index * tokens + row.promptLength - 1, index * tokens + row.tokens.length);
}

/** Maximum surprisal in nats. Larger values are capped. */
const greatestSurprise = 12;

/**
 * Returns the surprisal of each input token under the policy, in nats, or 0 for prompt tokens. Shape: [rows, tokens].
 */
function packSurprises(
	rows: readonly Sequence[],
	logprobs: (row: number) => PerToken,
	tokens: number,
): Float32Array<ArrayBuffer> {
	const packed = new Float32Array(rows.length * tokens);
	for (const [r, { promptLength }] of rows.entries()) {
		for (const [t, logprob] of logprobs(r).entries()) {
			packed[r * tokens + promptLength + t] = Math.min(greatestSurprise, -logprob);
		}
	}
	return packed;
}

/** Additional per-token inputs for a type of update. */
export interface ValueInputs<Row extends Sequence> {
	readonly variant: ValueVariant;
	/** Number of consecutive rows to compute together. Default: 1. */
	readonly together?: number;
	/** Values by input name. Entry 0 belongs to the prompt alone, and entry t to the first t completion tokens. */
	readonly perToken: Readonly<Record<string, (row: Row) => PerToken>>;
	readonly scalars: Readonly<Record<string, number>>;
}

/** A value model: a trunk with a scalar head. */
export class ValueModel {
	readonly model: TrainedModel;
	readonly #pool: WorkerPool;
	readonly #rows: MicroBatchRows;
	readonly #output: ValueOutput;

	constructor(pool: WorkerPool, head: HeadName, model: TrainedModel, rows: MicroBatchRows) {
		this.#pool = pool;
		this.#rows = rows;
		this.#output = head === 'value' || head === 'process' ? 'probability' : 'score';
		this.model = model;
	}

	/** @param logprobs log-probabilities of each row's completion tokens under the policy */
	values(rows: readonly Sequence[], logprobs: readonly PerToken[]): Promise<PerToken[]> {
		return this.#rows.fitting('train', sizesOf(rows), (size) => this.#values(rows, logprobs, size));
	}

	async #values(rows: readonly Sequence[], logprobs: readonly PerToken[], size: number): Promise<PerToken[]> {
		const output: PerToken[] = new Array(rows.length);
		await settled(
			microBatches(rows, size).map(async (indices) => {
				const part = indices.map((i) => rows[i] as Sequence);
				const batch = pad(part);
				const surprises = packSurprises(part, (i) => logprobs[indices[i] as number] as PerToken, batch.tokens);
				const { values } = await this.#pool.run(() => ({
					job: { kind: 'values', output: this.#output, weights: this.model.ref, batch, surprises },
					transfer: [batch.inputs.buffer, surprises.buffer],
				}));
				for (const [i, row] of indices.entries()) {
					output[row] = unpackValues(values, rows[row] as Sequence, i, batch.tokens);
				}
			}),
		);
		return output;
	}

	/** @param logprobs log-probabilities of each row's completion tokens under the policy */
	async update<Row extends Sequence>(
		rows: readonly Row[],
		logprobs: readonly PerToken[],
		inputs: ValueInputs<Row>,
		settings: OptimizerSettings,
	): Promise<ValueUpdateResult> {
		const sum = await this.#rows.fitting('train', sizesOf(rows), (size) =>
			this.#accumulate(rows, size, logprobs, inputs),
		);
		const gradNorm = await this.model.step(settings);
		return { ...sum, gradNorm };
	}

	async #accumulate<Row extends Sequence>(
		rows: readonly Row[],
		size: number,
		logprobs: readonly PerToken[],
		inputs: ValueInputs<Row>,
	): Promise<Omit<ValueUpdateResult, 'gradNorm'>> {
		const values: PerToken[] = new Array(rows.length);
		let loss = 0;
		await this.model.accumulate(
			microBatches(rows, size, inputs.together),
			(indices, gradient) => this.#gradient({ rows, logprobs, inputs }, indices, gradient),
			({ result, batch }, indices) => {
				loss += result.loss;
				for (const [i, row] of indices.entries()) {
					values[row] = unpackValues(result.values, rows[row] as Sequence, i, batch.tokens);
				}
			},
		);
		return { loss, values };
	}

	async #gradient<Row extends Sequence>(
		update: {
			readonly rows: readonly Row[];
			readonly logprobs: readonly PerToken[];
			readonly inputs: ValueInputs<Row>;
		},
		indices: MicroBatch,
		gradient: GradientTarget,
	) {
		const { rows, logprobs, inputs } = update;
		const part = indices.map((i) => rows[i] as Sequence);
		const batch = pad(part);
		const surprises = packSurprises(part, (i) => logprobs[indices[i] as number] as PerToken, batch.tokens);
		const packed = Object.entries(inputs.perToken).map(([name, of]): [string, Float32Array<ArrayBuffer>] => [
			name,
			packValues(part, (i) => of(rows[indices[i] as number] as Row), batch.tokens),
		]);
		const result = await this.#pool.run(() => ({
			job: {
				kind: 'value gradient',
				variant: inputs.variant,
				weights: this.model.ref,
				batch,
				surprises,
				perToken: Object.fromEntries(packed),
				scalars: inputs.scalars,
				gradient,
			},
			transfer: [batch.inputs, surprises, ...packed.map(([, values]) => values)].map(({ buffer }) => buffer),
		}));
		return { result, batch };
	}
}
