import type { IDisposable } from '../../../src/base/disposable.ts';
import { element, fill } from '../dom.ts';
import { placeTooltip } from '../tooltip.ts';

/** Box with details about the hovered token. The box ignores the pointer. */
export class TokenHover implements IDisposable {
	readonly element = element('div', {
		class: 'tooltip token-hover',
		aria: { hidden: true },
		attributes: { popover: 'manual' },
	});
	#shown: HTMLElement | null = null;

	show(anchor: HTMLElement, ...content: readonly HTMLElement[]): void {
		if (!this.element.isConnected) return;
		fill(this.element, ...content);
		if (this.#shown === null) this.element.showPopover();
		this.#shown = anchor;
		const { left, top } = placeTooltip(
			anchor.getBoundingClientRect(),
			{ width: this.element.offsetWidth, height: this.element.offsetHeight },
			{ width: window.innerWidth, height: window.innerHeight },
		);
		this.element.style.left = `${left}px`;
		this.element.style.top = `${top}px`;
	}

	hide(): void {
		if (this.#shown === null) return;
		this.#shown = null;
		if (this.element.isConnected) this.element.hidePopover();
	}

	dispose(): void {
		this.hide();
		this.element.remove();
	}
}
