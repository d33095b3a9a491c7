import type { Random } from '../../../base/random.ts';

/** Samples tokens from logits. After `choose`, the fields describe the sampled token. */
export class TokenChooser {
	token = 0;
	/** Log-probability under softmax(logits / temperature), in nats. */
	logprob = 0;
	/** Entropy of softmax(logits / temperature), in nats. */
	entropy = 0;
	/** KL divergence from the uniform distribution to softmax(logits / temperature), in nats. */
	selfCertainty = 0;
	readonly #vocabulary: number;
	readonly #inverseTemperature: number;
	readonly #greedy: boolean;
	readonly #topP: number;
	readonly #weights: Float64Array;
	#logSum = 0;

	/** Temperature 0 selects greedy decoding, with log-probabilities at temperature 1. `topP` 1 keeps all tokens. */
	constructor(vocabulary: number, temperature: number, topP: number) {
		this.#vocabulary = vocabulary;
		this.#greedy = temperature === 0;
		this.#inverseTemperature = temperature === 0 ? 1 : 1 / temperature;
		this.#topP = topP;
		this.#weights = new Float64Array(vocabulary);
	}

	/** Last distribution before top-p, unnormalized, with a maximum of 1. */
	get weights(): Float64Array {
		return this.#weights;
	}

	/**
	 * Returns the log-probability of any token under the last distribution, in nats, or -Infinity for an unknown token.
	 */
	logprobOf(token: number): number {
		const weight = this.#weights[token];
		return weight === undefined ? Number.NEGATIVE_INFINITY : Math.log(weight) - this.#logSum;
	}

	/** Samples from one row of `logits` that starts at `offset`. Consumes one random number, or none if greedy. */
	choose(logits: Float32Array, offset: number, random: Random): void {
		const n = this.#vocabulary;
		const weights = this.#weights;
		let best = 0;
		let highest = Number.NEGATIVE_INFINITY;
		for (let v = 0; v < n; v++) {
			const x = logits[offset + v] as number;
			if (x > highest) {
				highest = x;
				best = v;
			}
		}
		let sum = 0;
		let weighted = 0;
		let total = 0;
		for (let v = 0; v < n; v++) {
			const x = ((logits[offset + v] as number) - highest) * this.#inverseTemperature;
			const w = Math.exp(x);
			weights[v] = w;
			sum += w;
			weighted += w * x;
			total += x;
		}
		const logSum = Math.log(sum);
		this.#logSum = logSum;
		this.entropy = logSum - weighted / sum;
		// log p = x - logSum, and the divergence is -mean(log p) - log n.
		this.selfCertainty = logSum - total / n - Math.log(n);
		this.token = this.#greedy ? best : this.#topP < 1 ? this.#nucleus(sum, random) : draw(weights, n, sum, random);
		this.logprob = ((logits[offset + this.token] as number) - highest) * this.#inverseTemperature - logSum;
	}

	/**
	 * Samples from the smallest set of most likely tokens whose cumulative probability reaches top-p (Holtzman 2020, eq.
	 * 2).
	 */
	#nucleus(sum: number, random: Random): number {
		const weights = this.#weights;
		const order = Array.from({ length: this.#vocabulary }, (_, v) => v);
		order.sort((a, b) => (weights[b] as number) - (weights[a] as number) || a - b);
		let kept = 0;
		let count = 0;
		while (count < order.length && kept < this.#topP * sum) kept += weights[order[count++] as number] as number;
		const nucleus = Float64Array.from(order.slice(0, count), (v) => weights[v] as number);
		return order[draw(nucleus, count, kept, random)] as number;
	}
}

/** Draws an index below `n` with probability weights[i] / sum. */
function draw(weights: Float64Array, n: number, sum: number, random: Random): number {
	let u = random.next() * sum;
	for (let i = 0; i < n - 1; i++) {
		u -= weights[i] as number;
		if (u < 0) return i;
	}
	// If rounding leaves part of u unused, return the last token with a positive weight.
	let last = n - 1;
	while (last > 0 && weights[last] === 0) last--;
	return last;
}
