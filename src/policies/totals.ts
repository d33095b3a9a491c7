import type { Generation } from '../core/search/policy.ts';
import type { PolicyTotals } from './openedPolicy.ts';

/** Price per million tokens, in any currency. */
export interface Price {
	readonly input: number;
	readonly output: number;
	readonly currency: string;
}

/** Tracks a policy's usage. */
export class TotalsCounter implements PolicyTotals {
	readonly #price: Price | null;
	requests = 0;
	promptTokens = 0;
	tokens = 0;
	retries = 0;
	cost: number | null;

	constructor(price: Price | null = null) {
		this.#price = price;
		this.cost = price === null ? null : 0;
	}

	get currency(): string | null {
		return this.#price?.currency ?? null;
	}

	/** Returns the cost of the given token counts, or null if there is no price. */
	costOf(promptTokens: number, tokens: number): number | null {
		if (this.#price === null) return null;
		return (promptTokens * this.#price.input + tokens * this.#price.output) / 1e6;
	}

	/** Records one request and its generations. */
	add(generations: readonly Pick<Generation, 'tokens' | 'promptTokens'>[]): void {
		this.requests++;
		const promptTokens = generations.reduce((sum, one) => sum + (one.promptTokens ?? 0), 0);
		const tokens = generations.reduce((sum, one) => sum + one.tokens, 0);
		this.promptTokens += promptTokens;
		this.tokens += tokens;
		const cost = this.costOf(promptTokens, tokens);
		if (cost !== null) this.cost = (this.cost ?? 0) + cost;
	}

	snapshot(): PolicyTotals {
		const { requests, promptTokens, tokens, cost, currency, retries } = this;
		return { requests, promptTokens, tokens, cost, currency, retries };
	}
}
