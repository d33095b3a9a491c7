import { type CompletionRating, completionRatings } from '../../src/protocol/feedback.ts';
import { element, fill } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

export interface RatingContext {
	mine(index: number): CompletionRating | null;
	others(index: number): readonly { readonly rater: string; readonly rating: CompletionRating }[];
	rate(index: number, rating: CompletionRating | null): void;
}

/** Rating from 1 to 5 as radio buttons. Selecting the current rating again clears it. */
export class RatingControl {
	readonly element: HTMLElement;
	readonly #index: number;
	readonly #context: RatingContext;
	readonly #buttons: HTMLButtonElement[];
	readonly #others = element('span', { class: 'quiet rating-others' });

	constructor(index: number, context: RatingContext) {
		this.#index = index;
		this.#context = context;
		this.#buttons = completionRatings.map((rating) => {
			const made = element(
				'button',
				{
					class: 'rating',
					role: 'radio',
					title: `${rating} of 5 (use + and - to change, 0 to clear)`,
					aria: { label: `${rating} of 5` },
				},
				String(rating),
			);
			made.addEventListener('click', () => context.rate(index, context.mine(index) === rating ? null : rating));
			return made;
		});
		const group = element(
			'span',
			{ class: 'ratings', role: 'radiogroup', aria: { label: `Your rating for completion ${index}` } },
			...this.#buttons,
		);
		group.addEventListener('keydown', (event) => this.#move(event));
		this.element = element(
			'div',
			{ class: 'card-rating' },
			element('span', { class: 'quiet' }, 'Your rating'),
			group,
			this.#others,
		);
		this.update();
	}

	update(): void {
		const mine = this.#context.mine(this.#index);
		for (const [i, one] of this.#buttons.entries()) {
			const rating = completionRatings[i] as CompletionRating;
			one.setAttribute('aria-checked', String(rating === mine));
			one.classList.toggle('given', rating === mine);
			// A single tab stop. Arrow keys move between the buttons.
			one.tabIndex = rating === (mine ?? 1) ? 0 : -1;
		}
		const others = this.#context.others(this.#index);
		fill(
			this.#others,
			others.length > 0 && others.map(({ rater, rating }) => `${plainLabel(rater, 40)}: ${rating}`).join(', '),
		);
	}

	#move(event: KeyboardEvent): void {
		const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
		if (by === undefined) return;
		event.preventDefault();
		event.stopPropagation();
		const at = this.#buttons.indexOf(event.target as HTMLButtonElement);
		const next = completionRatings[Math.max(0, Math.min(completionRatings.length - 1, at + by))] as CompletionRating;
		this.#context.rate(this.#index, next);
		this.#buttons[next - 1]?.focus();
	}
}
