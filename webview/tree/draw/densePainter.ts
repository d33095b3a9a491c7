import type { NodeRole } from '../../../src/protocol/treeLog.ts';
import { nodeRoles } from '../../../src/protocol/treeLog.ts';
import type { Camera, Size } from './camera.ts';
import type { Palette } from './palette.ts';
import { mark, type Scene } from './scene.ts';

/**
 * Draws very large trees by writing lines and dots directly to pixels, skipping duplicates. Takes a few milliseconds
 * where canvas calls would take a hundred.
 */
export class DensePainter {
	#image: ImageData | null = null;
	#pixels = new Uint32Array(0);
	/** Pixels already drawn in this pass. */
	#taken = new Uint32Array(0);
	#turn = 0;

	paint(
		context: CanvasRenderingContext2D,
		scene: Scene,
		camera: Camera,
		size: Size,
		ratio: number,
		palette: Palette,
	): void {
		const width = Math.max(1, Math.round(size.width * ratio));
		const height = Math.max(1, Math.round(size.height * ratio));
		let image = this.#image;
		if (image === null || image.width !== width || image.height !== height) {
			image = new ImageData(width, height);
			this.#image = image;
			this.#pixels = new Uint32Array(image.data.buffer);
			this.#taken = new Uint32Array(width * height);
			this.#turn = 0;
		} else this.#pixels.fill(0);
		this.#lines(scene, camera, ratio, width, height, palette);
		this.#dots(scene, camera, ratio, width, height, palette);
		context.putImageData(image, 0, 0);
	}

	#lines(scene: Scene, camera: Camera, ratio: number, width: number, height: number, palette: Palette): void {
		const { layout, tree, marks } = scene;
		const { count, ids, parent } = layout.tree;
		const { x, y, edge } = layout;
		const taken = this.#taken;
		const pixels = this.#pixels;
		this.#turn++;
		const [kx, ky, tx, ty] = [camera.kx * ratio, camera.ky * ratio, camera.tx * ratio, camera.ty * ratio];
		const born = tree.nodes.length;
		// Dense edges must not outshine the nodes.
		const isFar = camera.k < 0.1;
		const plain = (isFar ? palette.faint : palette.edge).pixel;
		const [faint, best] = [palette.faint.pixel, palette.best.pixel];
		/** Draws a horizontal line segment. */
		const across = (from: number, to: number, py: number, pixel: number): void => {
			if (py < 0 || py >= height) return;
			const end = Math.min(width - 1, Math.max(from, to));
			for (let i = py * width + Math.max(0, Math.min(from, to)), last = py * width + end; i <= last; i++) {
				if (pixels[i] !== best) pixels[i] = pixel;
			}
		};
		const down = (from: number, to: number, px: number, pixel: number): void => {
			if (px < 0 || px >= width) return;
			const end = Math.min(height - 1, Math.max(from, to));
			for (let py = Math.max(0, Math.min(from, to)); py <= end; py++) {
				if (pixels[py * width + px] !== best) pixels[py * width + px] = pixel;
			}
		};
		for (let place = 0; place < count; place++) {
			if ((ids[place] as number) >= born) continue;
			const up = parent[place] as number;
			if (up === -1) continue;
			const ax = Math.round((x[up] as number) * kx + tx);
			const ay = Math.round((y[up] as number) * ky + ty);
			const bx = Math.round((x[place] as number) * kx + tx);
			const by = Math.round((y[place] as number) * ky + ty);
			if ((ax < 0 && bx < 0) || (ay < 0 && by < 0) || (ax >= width && bx >= width) || (ay >= height && by >= height)) {
				continue;
			}
			const bits = marks[place] as number;
			const isBest = (bits & mark.best) !== 0;
			// Another edge already ends at this pixel, so the two would be indistinguishable.
			if (bx >= 0 && by >= 0 && bx < width && by < height) {
				const at = by * width + bx;
				if (taken[at] === this.#turn && !isBest) continue;
				taken[at] = this.#turn;
			}
			const pixel = isBest ? best : (bits & mark.pruned) !== 0 ? faint : plain;
			if (edge === 'right') {
				const middle = (ax + bx) >> 1;
				across(ax, middle, ay, pixel);
				down(ay, by, middle, pixel);
				across(middle, bx, by, pixel);
			} else if (edge === 'down') {
				const middle = (ay + by) >> 1;
				down(ay, middle, ax, pixel);
				across(ax, bx, middle, pixel);
				down(middle, by, bx, pixel);
			} else if (edge === 'elbow') {
				down(ay, by, ax, pixel);
				across(ax, bx, by, pixel);
			} else line(pixels, width, height, ax, ay, bx, by, pixel);
		}
	}

	#dots(scene: Scene, camera: Camera, ratio: number, width: number, height: number, palette: Palette): void {
		const { layout, tree, marks, shade, coloring } = scene;
		const { count, ids } = layout.tree;
		const { x, y } = layout;
		const taken = this.#taken;
		const pixels = this.#pixels;
		this.#turn++;
		const inks =
			coloring === 'role'
				? nodeRoles.map((role: NodeRole) => palette.roles[role].pixel)
				: palette.ramp.map(({ pixel }) => pixel);
		const [kx, ky, tx, ty] = [camera.kx * ratio, camera.ky * ratio, camera.tx * ratio, camera.ty * ratio];
		const born = tree.nodes.length;
		// Stretch nodes along the less crowded axis so that their color is visible.
		const side = Math.max(1, Math.round(Math.min(4, 1.2 + 2.6 * camera.k) * ratio));
		const long = Math.max(side, Math.round(5 * ratio));
		const [wide, high] = [layout.slow === 'x' ? long : side, layout.slow === 'y' ? long : side];
		// Draw important nodes last, on top of the others, unless there are too many of them.
		let strong = 0;
		for (const bit of [mark.best, mark.right, mark.hit]) if (isRare(marks, bit)) strong |= bit;
		for (const isLast of [false, true]) {
			for (let place = 0; place < count; place++) {
				if ((ids[place] as number) >= born) continue;
				const bits = marks[place] as number;
				if (((bits & strong) !== 0) !== isLast) continue;
				const px = Math.round((x[place] as number) * kx + tx);
				const py = Math.round((y[place] as number) * ky + ty);
				if (px < 0 || py < 0 || px >= width || py >= height) continue;
				const at = py * width + px;
				if (taken[at] === this.#turn && !isLast) continue;
				taken[at] = this.#turn;
				const step = shade[place] as number;
				let pixel = step === -1 ? palette.none.pixel : (inks[step] as number);
				if ((bits & mark.pruned) !== 0 && !isLast) pixel = palette.faint.pixel;
				let grown = 0;
				if (isLast) {
					grown = 2 * Math.ceil(ratio);
					if ((bits & strong & mark.hit) !== 0) pixel = palette.hit.pixel;
					else if ((bits & strong & mark.right) !== 0) pixel = palette.right.pixel;
					else pixel = palette.best.pixel;
				}
				const from = px - ((wide + grown) >> 1);
				const top = py - ((high + grown) >> 1);
				const [left, right] = [Math.max(0, from), Math.min(width - 1, from + wide + grown - 1)];
				const end = Math.min(height - 1, top + high + grown - 1);
				for (let row = Math.max(0, top); row <= end; row++) {
					for (let i = row * width + left, last = row * width + right; i <= last; i++) pixels[i] = pixel;
				}
			}
		}
	}
}

/** Maximum number of nodes that can be enlarged. */
const maxRare = 300;

function isRare(marks: Uint16Array, bit: number): boolean {
	let count = 0;
	for (const bits of marks) if ((bits & bit) !== 0 && ++count > maxRare) return false;
	return true;
}

/** Bresenham's line algorithm, clipped to the image. */
function line(
	pixels: Uint32Array,
	width: number,
	height: number,
	ax: number,
	ay: number,
	bx: number,
	by: number,
	pixel: number,
): void {
	const clipped = clip(ax, ay, bx, by, width - 1, height - 1);
	if (clipped === null) return;
	let [px, py] = [Math.round(clipped[0]), Math.round(clipped[1])];
	const [ex, ey] = [Math.round(clipped[2]), Math.round(clipped[3])];
	const [dx, dy] = [Math.abs(ex - px), -Math.abs(ey - py)];
	const [sx, sy] = [px < ex ? 1 : -1, py < ey ? 1 : -1];
	let error = dx + dy;
	for (;;) {
		pixels[py * width + px] = pixel;
		if (px === ex && py === ey) break;
		const twice = 2 * error;
		if (twice >= dy) {
			error += dy;
			px += sx;
		}
		if (twice <= dx) {
			error += dx;
			py += sy;
		}
	}
}

/** Returns the part of a segment within [0, right] x [0, bottom] (Liang and Barsky), or null if there is none. */
export function clip(
	ax: number,
	ay: number,
	bx: number,
	by: number,
	right: number,
	bottom: number,
): readonly [number, number, number, number] | null {
	let [from, to] = [0, 1];
	const [dx, dy] = [bx - ax, by - ay];
	for (const [direction, distance] of [
		[-dx, ax],
		[dx, right - ax],
		[-dy, ay],
		[dy, bottom - ay],
	] as const) {
		if (direction === 0) {
			if (distance < 0) return null;
			continue;
		}
		const share = distance / direction;
		if (direction < 0) from = Math.max(from, share);
		else to = Math.min(to, share);
		if (from > to) return null;
	}
	return [ax + from * dx, ay + from * dy, ax + to * dx, ay + to * dy];
}
