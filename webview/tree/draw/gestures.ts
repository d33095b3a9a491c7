import { select, type ZoomTransform, zoom, zoomIdentity } from 'd3';
import { type IDisposable, toDisposable } from '../../../src/base/disposable.ts';
import { zoomLimits } from './camera.ts';

export interface GestureListener {
	pan(dx: number, dy: number): void;
	/** Zooms to scale `k` around a point of the element. */
	zoom(k: number, px: number, py: number): void;
}

export interface Gestures extends IDisposable {
	/** Synchronizes the scale after it was changed by something other than a gesture. */
	settle(k: number): void;
}

/**
 * Handles wheel, drag and pinch gestures with d3-zoom. Only the relative changes are used, because d3's transform does
 * not support separate scales for the two axes.
 */
export function gestures(element: HTMLElement, listener: GestureListener): Gestures {
	let last: ZoomTransform = zoomIdentity;
	let isSettling = false;
	const behavior = zoom<HTMLElement, unknown>()
		.scaleExtent([zoomLimits.min, zoomLimits.max])
		.clickDistance(4)
		.filter((event: MouseEvent) => !event.button && (event.type !== 'dblclick' || event.ctrlKey))
		.on('zoom', ({ transform }: { transform: ZoomTransform }) => {
			if (isSettling) return;
			const ratio = transform.k / last.k;
			if (Math.abs(ratio - 1) < 1e-9) listener.pan(transform.x - last.x, transform.y - last.y);
			else {
				// The point that stays fixed during the zoom.
				const px = (transform.x - ratio * last.x) / (1 - ratio);
				const py = (transform.y - ratio * last.y) / (1 - ratio);
				listener.zoom(transform.k, px, py);
			}
			last = transform;
		});
	const selection = select(element);
	selection.call(behavior);
	selection.on('dblclick.zoom', null);
	return {
		settle: (k) => {
			if (k === last.k) return;
			isSettling = true;
			last = zoomIdentity.scale(k);
			selection.call(behavior.transform, last);
			isSettling = false;
		},
		...toDisposable(() => selection.on('.zoom', null)),
	};
}
