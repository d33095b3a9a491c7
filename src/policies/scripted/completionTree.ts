import type { Random } from '../../base/random.ts';
import { distributionStatistics } from '../../core/search/distribution.ts';
import { scriptedTokens } from './scriptedTokens.ts';

/** A possible completion and its weight. */
export interface WeightedText {
	readonly text: string;
	readonly weight: number;
}

/** Token that marks the end of a completion. */
export const endToken = '';

interface Branch {
	readonly tokens: readonly string[];
	readonly weight: number;
}

/** A sampled token. Log-probabilities and entropies are in nats. */
export interface DrawnToken {
	readonly text: string;
	readonly logprob: number;
	readonly entropy: number;
	readonly varentropy: number;
	readonly gini: number;
	readonly variance: number;
	/** All possible tokens at this position, most probable first. */
	readonly top: readonly (readonly [text: string, logprob: number])[];
}

/**
 * Token distribution defined by weighted completions: p(token | prefix) = weight of the completions that continue the
 * prefix with the token / total weight of the completions with that prefix.
 */
export class CompletionTree {
	readonly #branches: readonly Branch[];

	constructor(texts: readonly WeightedText[]) {
		this.#branches = texts
			.filter(({ weight }) => weight > 0)
			.map(({ text, weight }) => ({ tokens: scriptedTokens(text), weight }));
	}

	get empty(): boolean {
		return this.#branches.length === 0;
	}

	/**
	 * Samples tokens up to the end of a completion, which is itself a token ({@link endToken}).
	 * @param temperature 0 for greedy decoding
	 */
	*draw(temperature: number, topP: number, random: Random): Generator<DrawnToken> {
		let branches = this.#branches;
		for (let at = 0; branches.length > 0; at++) {
			const weights = nextTokens(branches, at);
			const tokens = [...weights.keys()];
			const power = temperature === 0 ? 1 : 1 / temperature;
			const raised = tokens.map((token) => (weights.get(token) as number) ** power);
			const sum = raised.reduce((all, one) => all + one, 0);
			const order = tokens.map((_, i) => i).sort((a, b) => (raised[b] as number) - (raised[a] as number) || a - b);
			const drawn = temperature === 0 ? (order[0] as number) : nucleus(order, raised, sum, topP, random);
			const text = tokens[drawn] as string;
			const logprob = (i: number) => Math.log((raised[i] as number) / sum);
			yield {
				text,
				logprob: logprob(drawn),
				...distributionStatistics(raised),
				top: order.map((i) => [tokens[i] as string, logprob(i)] as const),
			};
			if (text === endToken) return;
			branches = branches.filter(({ tokens: own }) => own[at] === text);
		}
	}

	/**
	 * Returns the log-probability of each token in the text, excluding the end token. Tokens that no completion contains
	 * get {@link unlikely}.
	 */
	score(text: string): number[] {
		let branches = this.#branches;
		return scriptedTokens(text).map((token, at) => {
			const weights = nextTokens(branches, at);
			const sum = [...weights.values()].reduce((all, one) => all + one, 0);
			const weight = weights.get(token);
			branches = branches.filter(({ tokens }) => tokens[at] === token);
			return weight === undefined ? unlikely : Math.log(weight / sum);
		});
	}
}

/** Log-probability in nats for text not in the script. Finite, like that of a real model. */
export const unlikely = -30;

function nextTokens(branches: readonly Branch[], at: number): Map<string, number> {
	const weights = new Map<string, number>();
	for (const { tokens, weight } of branches) {
		const token = tokens[at] ?? endToken;
		weights.set(token, (weights.get(token) ?? 0) + weight);
	}
	return weights;
}

/**
 * Samples from the smallest set of most likely tokens whose cumulative probability reaches top-p (Holtzman 2020, eq.
 * 2).
 */
function nucleus(
	order: readonly number[],
	weights: readonly number[],
	sum: number,
	topP: number,
	random: Random,
): number {
	let kept = 0;
	let count = 0;
	while (count < order.length && (count === 0 || kept < topP * sum))
		kept += weights[order[count++] as number] as number;
	let u = random.next() * kept;
	for (let i = 0; i < count - 1; i++) {
		u -= weights[order[i] as number] as number;
		if (u < 0) return order[i] as number;
	}
	return order[count - 1] as number;
}
