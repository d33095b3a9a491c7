import type { RatioLevel } from '../../../core/grpo/objective/objective.ts';
import {
	add,
	cast,
	clip,
	compare,
	divide,
	exp,
	log,
	maximum,
	minimum,
	multiply,
	negate,
	sigmoid,
	subtract,
	where,
} from '../onnx/elementwise.ts';
import type { Value } from '../onnx/graph.ts';
import { reduceSum } from '../onnx/reduction.ts';

/** How a token's loss depends on the importance ratio; see the files in src/core/grpo/objective. */
export type Surrogate =
	| { readonly kind: 'clip'; readonly range?: RatioRange /** Maximum ratio. */; readonly limit?: Value }
	| { readonly kind: 'cispo' /** Maximum weight. */; readonly limit: Value }
	| { readonly kind: 'sapo'; readonly positive: Value; readonly negative: Value }
	| {
			readonly kind: 'vespo';
			readonly shape: VespoInputs;
			/** [rows, 1]; see `samplerLogRatio`. */
			readonly shift?: Value;
	  }
	/** Bounds of log ratios. */
	| { readonly kind: 'gmpo'; readonly range: RatioRange }
	/** Maximum divergences for negative and positive advantages; absent if the policy has not changed yet. */
	| { readonly kind: 'dppo_tv' | 'dppo_kl'; readonly range?: RatioRange };

export interface RatioRange {
	readonly low: Value;
	readonly high: Value;
}

export interface VespoInputs {
	readonly kPositive: Value;
	readonly lambdaPositive: Value;
	readonly kNegative: Value;
	readonly lambdaNegative: Value;
}

export interface PolicyLossInputs {
	/** [rows, tokens]; 0 for ignored positions. */
	readonly weights: Value;
	/** [rows, 1], or [rows, tokens] for per-token advantages (not for gmpo). */
	readonly advantages: Value;
	readonly surrogate: Surrogate;
	readonly level?: RatioLevel;
	/** [rows, tokens]; if absent, the current log-probabilities are used, detached. */
	readonly old?: Value;
	/** [rows, tokens] and its weight; absent if beta is 0. */
	readonly reference?: { readonly logprobs: Value; readonly beta: Value; readonly unbiased: boolean };
	/** [rows, tokens]: coefficients of |log ratio|. */
	readonly penalties?: Value;
	/** See `isOffPolicy`. */
	readonly offPolicyThreshold?: Value;
	/** [rows, 1]; see `samplerDrift`. */
	readonly samplerDrift?: Value;
}

/**
 * Returns the sum of weight * (surrogate + beta k3): the graph form of `rowLoss` (src/core/grpo/objective/rowLoss.ts),
 * with the k3 estimator exp(r) - r - 1, r = ref - logprob (DeepSeekMath, Shao 2024, eq. 4; Schulman 2020). The weights
 * determine how tokens are averaged.
 */
export function policyLoss(logprobs: Value, inputs: PolicyLossInputs): Value {
	const { advantages, reference, offPolicyThreshold } = inputs;
	const row = new Rows(inputs.weights);
	const change = row.counted(subtract(logprobs, inputs.old ?? logprobs.detach()));
	const ratio = exp(logRatioAt(inputs.level ?? 'token', change, row));
	let loss = negate(objective(inputs, { logprobs, change, ratio, row }));
	if (offPolicyThreshold) {
		const since = row.mean(negate(change)).detach();
		const drift = inputs.samplerDrift ? add(since, inputs.samplerDrift) : since;
		const [zero, one] = [loss.graph.scalar(0), loss.graph.scalar(1)];
		const far = where(compare('Greater', drift, offPolicyThreshold), zero, one);
		loss = multiply(loss, where(compare('Less', advantages, 0), far, one));
	}
	if (inputs.penalties) loss = add(loss, multiply(maximum(change, negate(change)), inputs.penalties));
	if (reference) {
		const r = row.counted(subtract(reference.logprobs, logprobs));
		const kl = multiply(subtract(subtract(exp(r), r), 1), reference.beta);
		loss = add(loss, reference.unbiased ? multiply(kl, ratio) : kl);
	}
	return reduceSum(multiply(loss, inputs.weights), undefined, false);
}

/** The tokens of each row that contribute to the loss. */
class Rows {
	readonly #counts: Value;
	readonly #zero: Value;
	#lengths: Value | undefined;

	constructor(weights: Value) {
		this.#counts = cast(weights, 'bool');
		this.#zero = weights.graph.scalar(0);
	}

	/** Ignored positions contain arbitrary numbers, and exp of their differences can overflow: 0 * inf is NaN. */
	counted(x: Value): Value {
		return where(this.#counts, x, this.#zero);
	}

	/** Returns the sum over the tokens that count: [rows, 1]. */
	sum(x: Value): Value {
		return reduceSum(this.counted(x), [1]);
	}

	/** Returns the mean over the tokens that count, or 0 if there are none: [rows, 1]. */
	mean(x: Value): Value {
		this.#lengths ??= x.graph.untracked(() => {
			const tokens = reduceSum(where(this.#counts, x.graph.scalar(1), this.#zero), [1]);
			return maximum(tokens, x.graph.scalar(1));
		});
		return divide(this.sum(x), this.#lengths);
	}
}

function logRatioAt(level: RatioLevel, change: Value, row: Rows): Value {
	switch (level) {
		case 'token':
			return change;
		case 'sequence':
			return row.mean(change);
		case 'sequence_token':
			return add(subtract(change, change.detach()), row.mean(change).detach());
	}
}

interface Terms {
	readonly logprobs: Value;
	/** logprob - old logprob, [rows, tokens]. */
	readonly change: Value;
	readonly ratio: Value;
	readonly row: Rows;
}

/** Returns the objective to maximize, per token or per row. */
function objective({ advantages, surrogate }: PolicyLossInputs, { logprobs, change, ratio, row }: Terms): Value {
	switch (surrogate.kind) {
		case 'clip': {
			const free = multiply(surrogate.limit ? minimum(ratio, surrogate.limit) : ratio, advantages);
			const { range } = surrogate;
			return range ? minimum(free, multiply(clip(ratio, range.low, range.high), advantages)) : free;
		}
		case 'cispo':
			return multiply(multiply(minimum(ratio.detach(), surrogate.limit), advantages), row.counted(logprobs));
		case 'sapo': {
			const t = where(compare('Greater', advantages, 0), surrogate.positive, surrogate.negative);
			return multiply(multiply(sigmoid(multiply(subtract(ratio, 1), t)), advantages), divide(t.graph.scalar(4), t));
		}
		case 'vespo':
			return multiply(multiply(vespoWeight(surrogate, advantages, change, row), advantages), row.counted(logprobs));
		case 'dppo_tv':
		case 'dppo_kl': {
			const free = multiply(dppoWeight(surrogate, advantages, { logprobs, change, row }), advantages);
			return multiply(free, row.counted(logprobs));
		}
		case 'gmpo': {
			const { low, high } = surrogate.range;
			const bound = where(compare('Greater', advantages, 0), minimum(change, high), maximum(change, low));
			return multiply(exp(row.mean(bound)), advantages);
		}
	}
}

/** Returns min(ratio, 20), or 0 where the policy has moved too far in the direction of the advantage; see `dppo.ts`. */
function dppoWeight(
	{ kind, range }: Extract<Surrogate, { kind: 'dppo_tv' | 'dppo_kl' }>,
	advantages: Value,
	terms: Pick<Terms, 'logprobs' | 'change' | 'row'>,
): Value {
	const { graph } = terms.change;
	const [zero, one, limit] = [graph.scalar(0), graph.scalar(1), graph.scalar(20)];
	const change = terms.change.detach();
	const weight = minimum(exp(clip(change, graph.scalar(-20), limit)), limit);
	if (range === undefined) return weight;
	const logprobs = terms.row.counted(terms.logprobs).detach();
	const [now, old] = [exp(logprobs), exp(subtract(logprobs, change))];
	const moved = subtract(now, old);
	const odds = (probability: Value) => add(subtract(one, probability), 1e-8);
	const divergence =
		kind === 'dppo_tv'
			? maximum(moved, negate(moved))
			: subtract(multiply(subtract(one, old), log(divide(odds(old), odds(now)))), multiply(old, change));
	const near = (bound: Value) => where(compare('LessOrEqual', divergence, bound), one, zero);
	const up = where(compare('LessOrEqual', moved, 0), one, near(range.high));
	const down = where(compare('Less', moved, 0), near(range.low), one);
	return multiply(weight, where(compare('Greater', advantages, 0), up, down));
}

function vespoWeight(
	{ shape, shift }: Extract<Surrogate, { kind: 'vespo' }>,
	advantages: Value,
	change: Value,
	row: Rows,
): Value {
	const { graph } = change;
	const limit = (x: Value, low: number) => clip(x, graph.scalar(low), graph.scalar(20));
	const since = row.sum(limit(change.detach(), -20));
	const logWeight = limit(shift ? add(since, shift) : since, Math.log(1e-8));
	const negative = compare('Less', advantages, 0);
	const k = where(negative, shape.kNegative, shape.kPositive);
	const lambda = where(negative, shape.lambdaNegative, shape.lambdaPositive);
	return exp(subtract(add(multiply(logWeight, k), lambda), multiply(exp(logWeight), lambda))).detach();
}
