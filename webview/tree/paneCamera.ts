import { type Camera, cameraAt, fitCamera, type Margin, revealing, type Size, zoomTo } from './draw/camera.ts';
import type { Scene } from './draw/scene.ts';
import type { Layout, LayoutKind } from './layout/layout.ts';

/** Maximum distance between the pointer and a node it hits, in CSS pixels. */
const hitRadius = 14;

/** Returns the margin for labels around a fitted tree. It is smaller in small windows. */
export function marginOf(kind: LayoutKind, { width, height }: Size): Margin {
	if (kind === 'radial') {
		const [across, along] = [Math.min(130, width * 0.16), Math.min(110, height * 0.16)];
		return { left: across, top: along, right: across, bottom: along };
	}
	return { left: 36, top: 36, right: Math.min(200, width * 0.24), bottom: 40 };
}

/** Returns a camera that shows the whole tree. */
export function fittingCamera(layout: Layout, size: Size, slow: number): Camera {
	const margin = marginOf(layout.kind, size);
	const camera = fitCamera(layout, size, slow, margin);
	// Outlines are read from the top.
	return layout.kind === 'indented' && camera.k < 0.7
		? cameraAt(1, margin.left / 2, margin.top / 2 + 8, layout.slow, slow)
		: camera;
}

/** Returns a camera with a place in view, zoomed in if its label would be unreadable. */
export function revealedCamera(
	camera: Camera,
	size: Size,
	slow: number,
	layout: Layout,
	place: number,
	fitted: boolean,
): Camera {
	const [x, y] = [layout.x[place] as number, layout.y[place] as number];
	const near =
		camera.k < 0.5 && !fitted
			? zoomTo(camera, 0.6, x * camera.kx + camera.tx, y * camera.ky + camera.ty, layout.slow, slow)
			: camera;
	return revealing(near, x, y, size, { left: 60, top: 50, right: Math.min(220, size.width / 3), bottom: 70 });
}

/**
 * Returns a camera that keeps a node at its screen position when the layout changes.
 * @param id null for the node nearest to the center
 */
export function keptCamera(
	camera: Camera,
	{ width, height }: Size,
	slow: number,
	before: Layout,
	layout: Layout,
	id: number | null,
): Camera {
	const { kx, ky, tx, ty, k } = camera;
	const at = id ?? idNear(before, (width / 2 - tx) / kx, (height / 2 - ty) / ky);
	if (at === null) return camera;
	const [old, now] = [before.tree.placeOf[at] ?? -1, layout.tree.placeOf[at] ?? -1];
	if (old === -1 || now === -1) return camera;
	const [sx, sy] = [(before.x[old] as number) * kx + tx, (before.y[old] as number) * ky + ty];
	const to = cameraAt(k, 0, 0, layout.slow, slow);
	return { ...to, tx: sx - (layout.x[now] as number) * to.kx, ty: sy - (layout.y[now] as number) * to.ky };
}

function idNear(layout: Layout, x: number, y: number): number | null {
	let best: number | null = null;
	let min = Number.POSITIVE_INFINITY;
	for (let place = 0; place < layout.tree.count; place++) {
		const distance = Math.abs((layout.x[place] as number) - x) + Math.abs((layout.y[place] as number) - y);
		if (distance < min) [min, best] = [distance, layout.tree.ids[place] as number];
	}
	return best;
}

/** Returns whether parts of the tree are out of view. */
export function exceedsView({ bounds }: Layout, { kx, ky, tx, ty }: Camera, { width, height }: Size): boolean {
	return (
		bounds.left * kx + tx < 0 ||
		bounds.top * ky + ty < 0 ||
		bounds.right * kx + tx > width ||
		bounds.bottom * ky + ty > height
	);
}

/** Returns the place nearest to a canvas point within the hit radius, or -1 if there is none. */
export function placeNear(scene: Scene, { kx, ky, tx, ty }: Camera, px: number, py: number): number {
	const { x, y, tree } = scene.layout;
	const born = scene.tree.nodes.length;
	let best = -1;
	let min = hitRadius ** 2;
	for (let place = 0; place < tree.count; place++) {
		const dx = (x[place] as number) * kx + tx - px;
		const dy = (y[place] as number) * ky + ty - py;
		const distance = dx * dx + dy * dy;
		if (distance < min && (tree.ids[place] as number) < born) [min, best] = [distance, place];
	}
	return best;
}
