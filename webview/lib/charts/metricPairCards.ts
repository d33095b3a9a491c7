import { Disposable } from '../../../src/base/disposable.ts';
import { type MetricPair, MetricPairCard, type PairNeeds } from './metricPairCard.ts';

/** Cards for metric-pair charts. A card is kept as long as its chart is requested. */
export class MetricPairCards extends Disposable {
	readonly #needs: PairNeeds;
	readonly #cards = new Map<string, MetricPairCard>();

	constructor(needs: PairNeeds) {
		super();
		this.#needs = needs;
		this.register({ dispose: () => this.set([]) });
	}

	/** Card elements, keyed by {@link pairKey}, in order. */
	get elements(): ReadonlyMap<string, HTMLElement> {
		return new Map([...this.#cards].map(([key, card]) => [key, card.element]));
	}

	/** Adds and removes cards. Cards that stay are not redrawn. */
	set(pairs: readonly MetricPair[]): void {
		const wanted = new Map(pairs.map((pair) => [pairKey(pair), pair]));
		const cards = [...wanted].map(
			([key, pair]) => [key, this.#cards.get(key) ?? new MetricPairCard(pair, this.#needs)] as const,
		);
		for (const [key, card] of this.#cards) {
			if (wanted.has(key)) continue;
			card.dispose();
			card.element.remove();
		}
		this.#cards.clear();
		for (const [key, card] of cards) this.#cards.set(key, card);
	}

	/** Redraws after the data has changed. */
	update(): void {
		for (const card of this.#cards.values()) card.update();
	}

	/** Redraws after a theme change. */
	rebuild(): void {
		for (const card of this.#cards.values()) card.rebuild();
	}
}

export const pairKey = ({ x, y }: MetricPair): string => JSON.stringify([x, y]);
