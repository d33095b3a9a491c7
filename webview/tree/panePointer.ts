export interface PointerActions {
	/** Returns the place at a point of the stage, in CSS pixels, or -1 if there is none. */
	readonly placeAt: (x: number, y: number) => number;
	readonly choose: (place: number) => void;
	readonly toggle: (place: number) => void;
	/** Called when the hovered place changes. -1 if there is none. */
	readonly hover: (place: number, x: number, y: number) => void;
}

/** Pointer input for a tree pane: click to select, double-click to expand or collapse, move to hover. */
export class PanePointer {
	#hovered = -1;

	constructor(stage: HTMLElement, actions: PointerActions) {
		const point = (event: MouseEvent): [number, number] => {
			const box = stage.getBoundingClientRect();
			return [event.clientX - box.left, event.clientY - box.top];
		};
		stage.addEventListener('click', (event) => {
			if (event.defaultPrevented) return;
			const place = actions.placeAt(...point(event));
			if (place !== -1) actions.choose(place);
		});
		stage.addEventListener('dblclick', (event) => {
			const place = actions.placeAt(...point(event));
			if (place !== -1) actions.toggle(place);
		});
		const hover = (place: number, x: number, y: number): void => {
			if (place === this.#hovered) return;
			this.#hovered = place;
			stage.classList.toggle('over-node', place !== -1);
			actions.hover(place, x, y);
		};
		stage.addEventListener('pointermove', (event) => {
			const at = point(event);
			hover(event.buttons === 0 ? actions.placeAt(...at) : -1, ...at);
		});
		stage.addEventListener('pointerleave', () => hover(-1, 0, 0));
	}
}
