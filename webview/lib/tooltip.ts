import { Disposable, type IDisposable, toDisposable } from '../../src/base/disposable.ts';
import { append, element, fill, uniqueId } from './dom.ts';

/** Explanation of a number, with title, recorded name, paragraphs, and facts. */
export interface Explanation {
	readonly title: string;
	/** Recorded name. */
	readonly name?: string | undefined;
	readonly paragraphs: readonly string[];
	/** Short facts, such as the unit or what the value is averaged over. */
	readonly facts?: readonly (readonly [label: string, value: string])[];
}

/**
 * Returns the position for a box: below its anchor, or above if there is no room, and always inside the window. Pure.
 */
export function placeTooltip(
	anchor: { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number },
	size: { readonly width: number; readonly height: number },
	view: { readonly width: number; readonly height: number },
	gap = 6,
): { readonly left: number; readonly top: number } {
	const left = Math.max(gap, Math.min(anchor.left, view.width - size.width - gap));
	const below = anchor.bottom + gap;
	if (below + size.height <= view.height) return { left, top: below };
	const above = anchor.top - gap - size.height;
	return { left, top: above >= 0 ? above : Math.max(0, view.height - size.height - gap) };
}

/** Tooltip for a page. Appears on hover and focus, stays open while hovered, and closes on Escape. */
export class Tooltip extends Disposable {
	readonly #box = element('div', {
		id: uniqueId('tooltip'),
		class: 'tooltip',
		role: 'tooltip',
		attributes: { popover: 'manual' },
	});
	#anchor: HTMLElement | null = null;
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(parent: HTMLElement) {
		super();
		parent.append(this.#box);
		this.#box.addEventListener('pointerenter', () => clearTimeout(this.#timer));
		this.#box.addEventListener('pointerleave', () => this.#hideSoon());
		const onKey = (event: KeyboardEvent): void => {
			if (event.key !== 'Escape' || !this.#anchor) return;
			this.hide();
			event.stopPropagation();
		};
		document.addEventListener('keydown', onKey, true);
		window.addEventListener('scroll', this.#onScroll, { passive: true, capture: true });
		this.register(toDisposable(() => document.removeEventListener('keydown', onKey, true)));
		this.register(toDisposable(() => window.removeEventListener('scroll', this.#onScroll, { capture: true })));
		this.register(toDisposable(() => clearTimeout(this.#timer)));
		this.register(toDisposable(() => this.#box.remove()));
	}

	/** Shows an explanation when an element is hovered or focused. */
	explain(anchor: HTMLElement, explanation: () => Explanation | null): IDisposable {
		const show = (delay: number) => (): void => {
			clearTimeout(this.#timer);
			this.#timer = setTimeout(() => this.#show(anchor, explanation()), delay);
		};
		const soon = show(350);
		const now = show(0);
		const leave = (): void => this.#hideSoon();
		const hide = (): void => this.hide();
		anchor.addEventListener('pointerenter', soon);
		anchor.addEventListener('pointerleave', leave);
		anchor.addEventListener('focusin', now);
		anchor.addEventListener('focusout', hide);
		return toDisposable(() => {
			anchor.removeEventListener('pointerenter', soon);
			anchor.removeEventListener('pointerleave', leave);
			anchor.removeEventListener('focusin', now);
			anchor.removeEventListener('focusout', hide);
			if (this.#anchor === anchor) this.hide();
		});
	}

	hide(): void {
		clearTimeout(this.#timer);
		if (!this.#anchor) return;
		this.#anchor.removeAttribute('aria-describedby');
		this.#anchor = null;
		this.#box.hidePopover();
	}

	readonly #onScroll = (): void => {
		if (this.#box.matches(':hover') || !this.#anchor) return;
		// A focused anchor may still be scrolling into view.
		if (this.#anchor.contains(document.activeElement)) this.#place(this.#anchor);
		else this.hide();
	};

	#hideSoon(): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.hide(), 180);
	}

	#show(anchor: HTMLElement, explanation: Explanation | null): void {
		if (!explanation || !anchor.isConnected) return;
		if (this.#anchor) this.hide();
		this.#anchor = anchor;
		fill(
			this.#box,
			element('strong', null, explanation.title),
			explanation.name === undefined ? null : element('code', null, explanation.name),
		);
		append(
			this.#box,
			explanation.paragraphs.map((paragraph) => element('p', null, paragraph)),
		);
		if (explanation.facts && explanation.facts.length > 0) {
			append(this.#box, [
				element(
					'dl',
					null,
					...explanation.facts.flatMap(([label, value]) => [element('dt', null, label), element('dd', null, value)]),
				),
			]);
		}
		this.#box.showPopover();
		anchor.setAttribute('aria-describedby', this.#box.id);
		this.#place(anchor);
	}

	#place(anchor: HTMLElement): void {
		const { left, top } = placeTooltip(
			anchor.getBoundingClientRect(),
			{ width: this.#box.offsetWidth, height: this.#box.offsetHeight },
			{ width: window.innerWidth, height: window.innerHeight },
		);
		this.#box.style.left = `${left}px`;
		this.#box.style.top = `${top}px`;
	}
}
