import { type IDisposable, toDisposable } from '../../src/base/disposable.ts';
import { element, setText } from './dom.ts';

/** Announces messages to screen readers. If several arrive in quick succession, only the last one is announced. */
export class LiveRegion implements IDisposable {
	readonly element = element('div', { class: 'visually-hidden', role: 'status', aria: { live: 'polite' } });
	#timer: ReturnType<typeof setTimeout> | undefined;
	#next = '';

	announce(text: string): void {
		this.#next = text;
		this.#timer ??= setTimeout(() => {
			this.#timer = undefined;
			// Clear the text, because unchanged text would not be announced again.
			setText(this.element, '');
			setText(this.element, this.#next);
		}, 400);
	}

	dispose(): void {
		clearTimeout(this.#timer);
		this.element.remove();
	}
}

/**
 * Returns the index of the item to focus after a key press; null for keys that do not move focus. Pure; `columns`
 * is 1 for a list or a toolbar.
 */
export function nextFocus(key: string, index: number, count: number, columns = 1): number | null {
	if (count === 0) return null;
	const clamp = (i: number): number => Math.max(0, Math.min(count - 1, i));
	switch (key) {
		case 'ArrowLeft':
			return clamp(index - 1);
		case 'ArrowRight':
			return clamp(index + 1);
		case 'ArrowUp':
			return clamp(index - columns);
		case 'ArrowDown':
			return clamp(index + columns);
		case 'Home':
			return 0;
		case 'End':
			return count - 1;
		default:
			return null;
	}
}

export interface RovingFocus extends IDisposable {
	/** Makes one of the items reachable with Tab. Call after the items have changed. */
	settle(): void;
}

/**
 * Implements the toolbar pattern: one tab stop for a group of controls, with arrow keys to move between them. `items`
 * is called on each key press because the group can change; it should not return hidden or disabled controls.
 */
export function rovingFocus(container: HTMLElement, items: () => readonly HTMLElement[]): RovingFocus {
	const settle = (): void => {
		const list = items();
		const current = list.findIndex((item) => item.tabIndex === 0);
		list.forEach((item, i) => {
			item.tabIndex = i === Math.max(0, current) ? 0 : -1;
		});
	};
	const onKey = (event: KeyboardEvent): void => {
		const list = items();
		const index = list.findIndex((item) => item === event.target || item.contains(event.target as Node));
		if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
		const next = nextFocus(event.key, index, list.length);
		if (next === null) return;
		event.preventDefault();
		list.forEach((item, i) => {
			item.tabIndex = i === next ? 0 : -1;
		});
		list[next]?.focus();
	};
	settle();
	container.addEventListener('keydown', onKey);
	container.addEventListener('focusin', settle);
	const { dispose } = toDisposable(() => {
		container.removeEventListener('keydown', onKey);
		container.removeEventListener('focusin', settle);
	});
	return { settle, dispose };
}
