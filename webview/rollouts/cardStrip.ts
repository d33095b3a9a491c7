import { Disposable } from '../../src/base/disposable.ts';
import type { RolloutDetail } from '../../src/protocol/rolloutsMessages.ts';
import { type Child, element, fill } from '../lib/dom.ts';
import type { CardContext } from './cardContext.ts';
import { CompletionCard } from './completionCard.ts';

/** Completions side by side or stacked. Cards are built when they approach the viewport. */
export class CardStrip extends Disposable {
	readonly element = element('div', { class: 'cards' });
	readonly #near = new IntersectionObserver((entries) => this.#buildNear(entries), { scrollMargin: '600px' });
	#cards: CompletionCard[] = [];

	constructor() {
		super();
		this.register({ dispose: () => this.clear() });
	}

	/** Replaces the completions and the elements after them. */
	show(rollouts: readonly RolloutDetail[], context: CardContext, ...after: readonly Child[]): void {
		this.clear();
		this.#cards = rollouts.map((rollout) => new CompletionCard(rollout, context));
		fill(this.element, ...this.#cards.map((card) => card.element), ...after);
		this.element.scrollTo(0, 0);
		for (const card of this.#cards) this.#near.observe(card.element);
	}

	/** Marks the current completion; with `focus`, also scrolls to it and focuses it. */
	select(index: number | null, focus: boolean): void {
		for (const card of this.#cards) {
			const selected = card.rollout.index === index;
			card.setSelected(selected);
			if (!selected || !focus) continue;
			card.build();
			card.element.focus({ preventScroll: true });
			card.element.scrollIntoView({ block: 'nearest', inline: 'nearest' });
		}
	}

	/** Updates the cards after the selection has changed. */
	updateChosen(): void {
		for (const card of this.#cards) card.updateChosen();
	}

	/** Updates the cards after human ratings have changed. */
	updateRatings(): void {
		for (const card of this.#cards) card.updateRating();
	}

	clear(): void {
		this.#near.disconnect();
		for (const card of this.#cards) card.dispose();
		this.#cards = [];
	}

	#buildNear(entries: readonly IntersectionObserverEntry[]): void {
		const near = new Set(entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target));
		for (const card of this.#cards) {
			if (!near.has(card.element)) continue;
			this.#near.unobserve(card.element);
			card.build();
		}
	}
}
