import { element } from '../lib/dom.ts';
import { type Camera, cameraAt, fitCamera, type Size, slowness, viewOf } from './draw/camera.ts';
import { DensePainter } from './draw/densePainter.ts';
import type { Palette } from './draw/palette.ts';
import type { Scene } from './draw/scene.ts';

const size: Size = { width: 168, height: 112 };
const margin = { left: 8, top: 8, right: 8, bottom: 8 };

/** Minimap of the whole tree that shows the visible part. Click or drag to navigate. */
export class Minimap {
	readonly element: HTMLElement;
	readonly #canvas = element('canvas', { class: 'minimap-canvas', aria: { hidden: true } });
	readonly #painter = new DensePainter();
	readonly #picture = document.createElement('canvas');
	#camera: Camera = cameraAt(1, 0, 0, null, 1);
	#painted: Scene | null = null;

	/** @param goTo called with the layout point to center */
	constructor(goTo: (x: number, y: number) => void) {
		this.element = element('div', { class: 'minimap', aria: { hidden: true } }, this.#canvas);
		const go = (event: PointerEvent): void => {
			const box = this.#canvas.getBoundingClientRect();
			const { kx, ky, tx, ty } = this.#camera;
			goTo((event.clientX - box.left - tx) / kx, (event.clientY - box.top - ty) / ky);
		};
		this.#canvas.addEventListener('pointerdown', (event) => {
			this.#canvas.setPointerCapture(event.pointerId);
			go(event);
			event.stopPropagation();
		});
		this.#canvas.addEventListener('pointermove', (event) => {
			if (this.#canvas.hasPointerCapture(event.pointerId)) go(event);
		});
	}

	draw(scene: Scene, camera: Camera, view: Size, palette: Palette, isFresh: boolean): void {
		const ratio = window.devicePixelRatio || 1;
		const context = this.#canvas.getContext('2d');
		const picture = this.#picture.getContext('2d');
		if (context === null || picture === null) return;
		if (this.#canvas.width !== Math.round(size.width * ratio)) {
			for (const canvas of [this.#canvas, this.#picture]) {
				canvas.width = Math.round(size.width * ratio);
				canvas.height = Math.round(size.height * ratio);
			}
			this.#painted = null;
		}
		if (this.#painted !== scene || isFresh) {
			this.#painted = scene;
			this.#camera = fitCamera(scene.layout, size, slowness(scene.layout, size, margin), margin, 0.2);
			this.#painter.paint(picture, scene, this.#camera, size, ratio, palette);
		}
		context.setTransform(1, 0, 0, 1, 0, 0);
		context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
		context.drawImage(this.#picture, 0, 0);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		const seen = viewOf(camera, view);
		const { kx, ky, tx, ty } = this.#camera;
		const within = (value: number, limit: number): number => Math.max(1, Math.min(limit - 1, value));
		const left = within(seen.left * kx + tx, size.width);
		const top = within(seen.top * ky + ty, size.height);
		const right = within(seen.right * kx + tx, size.width);
		const bottom = within(seen.bottom * ky + ty, size.height);
		context.strokeStyle = palette.accent.css;
		context.lineWidth = 1.5;
		context.strokeRect(left, top, Math.max(2, right - left), Math.max(2, bottom - top));
	}
}
