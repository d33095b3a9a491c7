import { type Deferred, deferred } from '../../base/async.ts';
import type { SearchBudget, StopReason } from '../../protocol/treeLog.ts';
import { SearchStop } from './searchStop.ts';

/** Resources used since the start of a search, excluding the problem node. */
export interface SearchTotals {
	nodes: number;
	/** Number of completion tokens. */
	tokens: number;
	/** null if no policy reported it. */
	promptTokens: number | null;
	simulations: number;
	/** null if the policy has no prices. */
	cost: number | null;
	seconds: number;
}

export interface Reserved {
	/** Number of generations that can be requested. */
	readonly n: number;
	/** Token limit per generation. */
	readonly maxTokens: number;
	/** Whether generations get fewer tokens than requested because the budget is nearly exhausted. */
	readonly cut: boolean;
	readonly nodes: number;
}

/**
 * Remaining budget of a search. Nodes and tokens are reserved before they are requested, so the budget is exact to the
 * token regardless of how many requests are in flight. Requests that would be truncated wait for other requests to
 * release unused tokens. Time and cost are checked before each request, because the cost of a request is known only
 * afterward.
 */
export class BudgetMeter {
	readonly #limit: SearchBudget;
	readonly #elapsed: () => number;
	readonly #waiting: Deferred<void>[] = [];
	#nodes = 0;
	#tokens = 0;
	#simulations = 0;
	#cost = 0;
	#heldNodes = 0;
	#heldTokens = 0;
	#held = 0;
	#open = 0;
	readonly #atOnce: number;
	#dearest = 0;

	/**
	 * @param elapsed seconds since this part of the search began
	 * @param atOnce number of generations that share the remaining tokens when they run low
	 */
	constructor(limit: SearchBudget, elapsed: () => number, atOnce = 1) {
		this.#atOnce = atOnce;
		this.#limit = limit;
		this.#elapsed = elapsed;
	}

	/**
	 * Reserves room for at most `n` generations of at most `maxTokens` tokens; with `nodes`, each becomes a node. When
	 * tokens run low, each generation gets a fraction of the remainder, but at least `share`, because few generations
	 * need all their tokens. Throws `SearchStop`.
	 */
	reserve(n: number, maxTokens: number, nodes: boolean, share = maxTokens): Reserved | Promise<Reserved> {
		return this.#tryReserve(n, maxTokens, nodes, share) ?? this.#reserveLater(n, maxTokens, nodes, share);
	}

	/** Marks the search as busy until `leave` is called, even if nothing is reserved. */
	enter(): void {
		this.#open++;
	}

	leave(): void {
		this.#open--;
		if (this.#waiting.length > 0) for (const waiting of this.#waiting.splice(0)) waiting.resolve();
	}

	/** Releases a reservation and records actual usage. */
	settle(reserved: Reserved, used: { nodes: number; tokens: number; cost: number }): void {
		this.#heldNodes -= reserved.nodes;
		this.#heldTokens -= reserved.n * reserved.maxTokens;
		this.#held -= reserved.n;
		this.#nodes += used.nodes;
		this.#tokens += used.tokens;
		this.#cost += used.cost;
		if (used.cost > 0) this.#dearest = Math.max(this.#dearest, used.cost / reserved.n);
		if (this.#waiting.length > 0) for (const waiting of this.#waiting.splice(0)) waiting.resolve();
	}

	/** Counts a node that does not require a generation. */
	node(): void {
		const { nodes } = this.#limit;
		if (nodes !== undefined && this.#nodes + this.#heldNodes + 1 > nodes) throw new SearchStop('nodes');
		this.#nodes++;
	}

	/** Counts up to `wanted` nodes beyond the reservation, as the budget allows, and returns how many were counted. */
	moreNodes(wanted: number): number {
		const { nodes } = this.#limit;
		const room = nodes === undefined ? wanted : Math.floor(nodes - this.#nodes - this.#heldNodes);
		const granted = Math.max(0, Math.min(wanted, room));
		this.#nodes += granted;
		return granted;
	}

	simulation(): void {
		const { simulations } = this.#limit;
		if (simulations !== undefined && this.#simulations + 1 > simulations) throw new SearchStop('simulations');
		this.checkTime();
		this.#simulations++;
	}

	checkTime(): void {
		const { seconds } = this.#limit;
		if (seconds !== undefined && this.#elapsed() >= seconds) throw new SearchStop('seconds');
	}

	/** Resolves when nothing is in flight. */
	async idle(): Promise<void> {
		while (this.#held > 0 || this.#open > 0) {
			const waiting = deferred<void>();
			this.#waiting.push(waiting);
			await waiting.promise.catch(() => undefined);
		}
	}

	/** Rejects all waiting reservations. */
	stop(stop: SearchStop): void {
		for (const waiting of this.#waiting.splice(0)) waiting.reject(stop);
	}

	async #reserveLater(n: number, maxTokens: number, nodes: boolean, share: number): Promise<Reserved> {
		for (;;) {
			const waiting = deferred<void>();
			this.#waiting.push(waiting);
			await waiting.promise;
			const reserved = this.#tryReserve(n, maxTokens, nodes, share);
			if (reserved !== null) return reserved;
		}
	}

	/** Returns null if the rest is reserved by other requests that might not need it. */
	#tryReserve(n: number, maxTokens: number, nodes: boolean, share: number): Reserved | null {
		const limit = this.#limit;
		this.checkTime();
		let max = n;
		const wait = (reason: StopReason): null => {
			if (this.#held > 0) return null;
			throw new SearchStop(reason);
		};
		if (limit.cost !== undefined) {
			if (this.#cost >= limit.cost) throw new SearchStop('cost');
			if (this.#held > 0 && this.#cost + this.#held * this.#dearest >= limit.cost) return null;
		}
		if (nodes && limit.nodes !== undefined) {
			max = Math.min(max, Math.floor(limit.nodes - this.#nodes - this.#heldNodes));
			if (max < 1) return wait('nodes');
		}
		let each = maxTokens;
		if (limit.tokens !== undefined) {
			const left = Math.floor(limit.tokens - this.#tokens - this.#heldTokens);
			each = Math.min(maxTokens, Math.max(share, Math.floor(left / Math.max(max, this.#atOnce))));
			if (left < each) {
				if (this.#held > 0) return null;
				if (left < 1) throw new SearchStop('tokens');
				each = left;
			}
			max = Math.min(max, Math.floor(left / each));
		}
		const held = nodes ? max : 0;
		this.#heldNodes += held;
		this.#heldTokens += max * each;
		this.#held += max;
		return { n: max, maxTokens: each, cut: each < maxTokens, nodes: held };
	}
}
