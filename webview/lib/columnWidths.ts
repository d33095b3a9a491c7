import { element } from './dom.ts';

export const minColumnWidth = 48;
export const maxColumnWidth = 1200;
/** Width change per key press, in CSS pixels. */
const keyStep = 16;

/**
 * Column widths of a table in CSS pixels, set as the custom properties `--columns` and `--row-width` on its element.
 */
export class ColumnWidths {
	readonly #table: HTMLElement;
	readonly #first: number;
	readonly #onResize: (index: number, width: number) => void;
	#widths: number[] = [];

	/** @param first fixed width of the leading column */
	constructor(table: HTMLElement, first: number, onResize: (index: number, width: number) => void) {
		this.#table = table;
		this.#first = first;
		this.#onResize = onResize;
	}

	set(widths: readonly number[]): void {
		this.#widths = [...widths];
		this.#layout();
	}

	/** Creates the resize handle at the right edge of a column's header. */
	grip(index: number): HTMLElement {
		const grip = element('span', { class: 'grip', aria: { hidden: true } });
		grip.addEventListener('pointerdown', (event) => {
			event.preventDefault();
			const start = event.clientX;
			const width = this.#widths[index] as number;
			const drag = new AbortController();
			const { signal } = drag;
			grip.setPointerCapture(event.pointerId);
			grip.addEventListener('pointermove', (moved) => this.#resize(index, width + moved.clientX - start), { signal });
			grip.addEventListener('pointerup', () => drag.abort(), { signal });
			grip.addEventListener('pointercancel', () => drag.abort(), { signal });
		});
		return grip;
	}

	/** Resizes a column when Alt+Left or Alt+Right is pressed in its header. */
	onKey(event: KeyboardEvent, index: number): void {
		if (!event.altKey || (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight')) return;
		event.preventDefault();
		this.#resize(index, (this.#widths[index] as number) + (event.key === 'ArrowLeft' ? -keyStep : keyStep));
	}

	#resize(index: number, to: number): void {
		const width = Math.max(minColumnWidth, Math.min(maxColumnWidth, to));
		this.#widths[index] = width;
		this.#layout();
		this.#onResize(index, width);
	}

	#layout(): void {
		const { style } = this.#table;
		style.setProperty('--columns', [this.#first, ...this.#widths].map((width) => `${width}px`).join(' '));
		style.setProperty('--row-width', `${this.#widths.reduce((sum, width) => sum + width, this.#first)}px`);
	}
}
