import { paintAxis } from './axisPainter.ts';
import type { Camera, Size } from './camera.ts';
import { DensePainter } from './densePainter.ts';
import { paintFine, paintRing, paintTouched, placesInView } from './finePainter.ts';
import { hasLabels, paintLabels } from './labelPainter.ts';
import type { Palette } from './palette.ts';
import type { Scene } from './scene.ts';

/** Maximum number of nodes drawn in full detail. If more are in view, they are drawn as dots and lines. */
const maxFine = 1800;

export interface Picture {
	readonly scene: Scene;
	readonly camera: Camera;
	readonly size: Size;
	readonly palette: Palette;
	/** Place of the selected node, or -1 if there is none. */
	readonly selected: number;
	readonly hovered: number;
}

/** Draws a tree on a canvas, with as much detail as fits. */
export class Painter {
	readonly #dense = new DensePainter();

	paint(canvas: HTMLCanvasElement, { scene, camera, size, palette, selected, hovered }: Picture): void {
		const context = fitted(canvas, size);
		if (context === null) return;
		const ratio = window.devicePixelRatio || 1;
		const places = placesInView(scene, camera, size);
		const isDense = places.length > maxFine;
		context.setTransform(1, 0, 0, 1, 0, 0);
		if (isDense) this.#dense.paint(context, scene, camera, size, ratio, palette);
		else context.clearRect(0, 0, canvas.width, canvas.height);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		if (!isDense) paintFine(context, scene, camera, places, palette, selected);
		paintTouched(context, scene, camera, palette);
		if (hovered !== -1 && hovered !== selected) paintRing(context, scene, camera, hovered, palette, false);
		if (selected !== -1) paintRing(context, scene, camera, selected, palette, true);
		if (!isDense && hasLabels(scene, camera)) paintLabels(context, scene, camera, size, places, palette);
		if (scene.layout.axis !== null) paintAxis(context, scene.layout.axis, camera, size, palette);
	}

	clear(canvas: HTMLCanvasElement, size: Size): void {
		const context = fitted(canvas, size);
		context?.setTransform(1, 0, 0, 1, 0, 0);
		context?.clearRect(0, 0, canvas.width, canvas.height);
	}
}

/** Resizes a canvas to match device pixels and returns its context. */
function fitted(canvas: HTMLCanvasElement, { width, height }: Size): CanvasRenderingContext2D | null {
	const ratio = window.devicePixelRatio || 1;
	const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
	if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
	return canvas.getContext('2d');
}
