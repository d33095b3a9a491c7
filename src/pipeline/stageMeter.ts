import type { StageUsage } from '../protocol/pipeline.ts';
import type { PolicyPool } from '../search/policyPool.ts';
import type { StageWork } from './stageWork.ts';

type Totals = PolicyPool['totals'];

/** Measures the time and tokens of a stage that the runner executes itself, including earlier attempts. */
export class StageMeter {
	readonly #work: StageWork;
	readonly #totals: () => Totals;
	readonly #began = performance.now();

	constructor(work: StageWork, totals: () => Totals) {
		this.#work = work;
		this.#totals = totals;
	}

	/** Reports progress along with the usage so far. */
	report(news: Parameters<StageWork['report']>[0] = {}): void {
		const { spent, usage, report } = this.#work;
		report({
			...news,
			spent: spent + (performance.now() - this.#began) / 1000,
			usage: usageOf(usage, this.#totals()),
		});
	}
}

/** Adds the policies' totals to the earlier usage. */
export function usageOf(earlier: StageUsage | null, totals: Totals): StageUsage {
	const costs = new Map(earlier?.costs.map(({ amount, currency }) => [currency, amount]));
	let { requests, tokens } = earlier ?? { requests: 0, tokens: 0 };
	for (const one of totals) {
		requests += one.requests;
		tokens += one.tokens;
		// A policy without a price has an unknown cost, not zero cost.
		if (one.cost !== null && one.currency !== null) costs.set(one.currency, (costs.get(one.currency) ?? 0) + one.cost);
	}
	return { requests, tokens, costs: [...costs].map(([currency, amount]) => ({ currency, amount })) };
}
