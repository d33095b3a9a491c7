import { type Deferred, deferred } from '../../base/async.ts';
import type { SearchBudget, StopReason } from '../../protocol/treeLog.ts';
import { SearchStop } from './searchStop.ts';

/** What a search used up, from its start on; the problem is no node of it. */
export interface SearchTotals {
	nodes: number;
	/** Of completions. */
	tokens: number;
	/** null: no policy told. */
	promptTokens: number | null;
	simulations: number;
	/** null: the policy has no prices. */
	cost: number | null;
	seconds: number;
}

export interface Reserved {
	/** Generations that may be asked for. */
	readonly n: number;
	/** Of each. */
	readonly maxTokens: number;
	/** They get fewer tokens than was asked for, because no more are left. */
	readonly cut: boolean;
	readonly nodes: number;
}

/**
 * What a search may still use. Nodes and tokens are reserved before they are asked for, so that a budget is kept to the
 * token however many requests are under way; who would be cut short waits for what others did not use. Seconds are looked
 * at before each request, and cost is: what a request costs is known when it is done.
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
	 * @param atOnce generations among which tokens are shared where there are not enough for all that they may need
	 */
	constructor(limit: SearchBudget, elapsed: () => number, atOnce = 1) {
		this.#atOnce = atOnce;
		this.#limit = limit;
		this.#elapsed = elapsed;
	}

	/**
	 * Room for at most `n` generations of at most `maxTokens` tokens; `nodes`: each becomes one. Where tokens are short, each
	 * gets a share of what is left, `share` or more: who needs all of it at once says nothing. Throws `SearchStop`.
	 */
	reserve(n: number, maxTokens: number, nodes: boolean, share = maxTokens): Reserved | Promise<Reserved> {
		return this.#tryReserve(n, maxTokens, nodes, share) ?? this.#reserveLater(n, maxTokens, nodes, share);
	}

	/** From here on up to `leave` the search is not idle, whether something is reserved or not. */
	enter(): void {
		this.#open++;
	}

	leave(): void {
		this.#open--;
		if (this.#waiting.length > 0) for (const waiting of this.#waiting.splice(0)) waiting.resolve();
	}

	/** Gives back what was reserved, and counts what was used. */
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

	/** A node that nobody generates. */
	node(): void {
		const { nodes } = this.#limit;
		if (nodes !== undefined && this.#nodes + this.#heldNodes + 1 > nodes) throw new SearchStop('nodes');
		this.#nodes++;
	}

	/** Of so many more nodes than were reserved, those that there is room for, counted. */
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

	/** Resolves when nothing is under way. */
	async idle(): Promise<void> {
		while (this.#held > 0 || this.#open > 0) {
			const waiting = deferred<void>();
			this.#waiting.push(waiting);
			await waiting.promise.catch(() => undefined);
		}
	}

	/** Whoever waits for room is told. */
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

	/** null: what is left is held by others, who may not need it. */
	#tryReserve(n: number, maxTokens: number, nodes: boolean, share: number): Reserved | null {
		const limit = this.#limit;
		this.checkTime();
		let most = n;
		const wait = (reason: StopReason): null => {
			if (this.#held > 0) return null;
			throw new SearchStop(reason);
		};
		if (limit.cost !== undefined) {
			if (this.#cost >= limit.cost) throw new SearchStop('cost');
			if (this.#held > 0 && this.#cost + this.#held * this.#dearest >= limit.cost) return null;
		}
		if (nodes && limit.nodes !== undefined) {
			most = Math.min(most, Math.floor(limit.nodes - this.#nodes - this.#heldNodes));
			if (most < 1) return wait('nodes');
		}
		let each = maxTokens;
		if (limit.tokens !== undefined) {
			const left = Math.floor(limit.tokens - this.#tokens - this.#heldTokens);
			each = Math.min(maxTokens, Math.max(share, Math.floor(left / Math.max(most, this.#atOnce))));
			if (left < each) {
				if (this.#held > 0) return null;
				if (left < 1) throw new SearchStop('tokens');
				each = left;
			}
			most = Math.min(most, Math.floor(left / each));
		}
		const held = nodes ? most : 0;
		this.#heldNodes += held;
		this.#heldTokens += most * each;
		this.#held += most;
		return { n: most, maxTokens: each, cut: each < maxTokens, nodes: held };
	}
}
