import { Failure } from '../../base/failure.ts';
import type { HeadName } from '../../protocol/control.ts';
import type { ModelShape } from '../shared/modelShape.ts';
import type { MicroBatchRows } from './compute/microBatchRows.ts';
import type { ModelMemory, TrainedModel } from './compute/trainedModel.ts';
import { type ValueInputs, ValueModel } from './compute/valueModel.ts';
import type { WorkerPool } from './compute/workerPool.ts';
import type { CriticRow, OptimizerSettings, PerToken, Sequence, ValueRow, ValueUpdateResult } from './learner.ts';
import { countOf, initialValueParameters, valueParameterSpecs } from './model/parameters.ts';
import { checkLengths } from './sequenceChecks.ts';

/** Returns log-probabilities of 0, so that no token is surprising. */
function unread(rows: readonly Sequence[]): PerToken[] {
	return rows.map(({ tokens, promptLength }) => new Float32Array(tokens.length - promptLength));
}

/** Returns 1 after the last token of a row, and 0 elsewhere. */
function lastPlace({ tokens, promptLength }: Sequence): PerToken {
	const places = new Float32Array(tokens.length - promptLength + 1);
	places[places.length - 1] = 1;
	return places;
}

interface HeadParts {
	readonly shape: ModelShape;
	readonly pool: WorkerPool;
	readonly memory: ModelMemory;
	readonly policy: TrainedModel;
	readonly rows: MicroBatchRows;
	/** Returns log-probabilities under the policy at temperature 1. */
	readonly logprobs: (rows: readonly Sequence[]) => Promise<PerToken[]>;
}

/** The value models of a learner: one for each head that was added. */
export class ValueHeads {
	readonly #parts: HeadParts;
	readonly #models = new Map<HeadName, ValueModel>();

	constructor(parts: HeadParts) {
		this.#parts = parts;
	}

	get names(): readonly HeadName[] {
		return [...this.#models.keys()];
	}

	/** @param parameters default: the policy's, with a head that assigns 0.5 to any text */
	async add(head: HeadName, parameters?: Float32Array): Promise<void> {
		const { shape, pool, memory, policy, rows } = this.#parts;
		const given = parameters ?? initialValueParameters(shape, await policy.weights());
		const count = countOf(valueParameterSpecs(shape));
		if (given.length !== count) {
			throw new Failure('mismatch', `The head has ${count} parameters, but ${given.length} values were given.`);
		}
		const before = this.#models.get(head);
		if (before !== undefined) return before.model.setWeights(given);
		this.#models.set(head, new ValueModel(pool, head, await memory.create(head, given), rows));
	}

	model(head: HeadName): TrainedModel {
		return this.#head(head).model;
	}

	async values(rows: readonly Sequence[], head: HeadName, logprobs?: readonly PerToken[]): Promise<PerToken[]> {
		checkLengths(this.#parts.shape, rows);
		const model = this.#head(head);
		// A reward must not depend on the policy being scored, because training would then change the reward.
		const known = head === 'reward' ? unread(rows) : logprobs;
		return model.values(rows, known ?? (await this.#parts.logprobs(rows)));
	}

	async update(head: HeadName, rows: readonly ValueRow[], optimizer: OptimizerSettings): Promise<ValueUpdateResult> {
		checkLengths(this.#parts.shape, rows);
		const model = this.#head(head);
		const inputs: ValueInputs<ValueRow> = {
			variant: 'labels',
			perToken: { labels: ({ labels }) => labels, weights: ({ weights }) => weights },
			scalars: {},
		};
		return model.update(rows, await this.#parts.logprobs(rows), inputs, optimizer);
	}

	async updateRewardModel(rows: readonly Sequence[], optimizer: OptimizerSettings): Promise<ValueUpdateResult> {
		checkLengths(this.#parts.shape, rows);
		const inputs: ValueInputs<Sequence> = {
			variant: 'pairs',
			together: 2,
			perToken: { weights: lastPlace },
			scalars: { 'pair weight': 2 / rows.length },
		};
		return this.#head('reward').update(rows, unread(rows), inputs, optimizer);
	}

	async updateCritic(
		rows: readonly CriticRow[],
		settings: { readonly clipRange: number },
		optimizer: OptimizerSettings,
	): Promise<ValueUpdateResult> {
		checkLengths(this.#parts.shape, rows);
		const inputs: ValueInputs<CriticRow> = {
			variant: 'returns',
			perToken: {
				weights: ({ weights }) => weights,
				returns: ({ returns }) => returns,
				'old values': ({ oldValues }) => oldValues,
			},
			scalars: { 'clip range': settings.clipRange },
		};
		const logprobs = rows.map((row) => row.logprobs);
		return this.#head('critic').update(rows, logprobs, inputs, optimizer);
	}

	#head(head: HeadName): ValueModel {
		const model = this.#models.get(head);
		if (model === undefined) throw new Failure('missing', `The ${head} head has not been added.`);
		return model;
	}
}
