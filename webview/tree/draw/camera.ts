import type { Bounds, Layout } from '../layout/layout.ts';

/** Transform from layout units to CSS pixels on the canvas: `screen = k * layout + t` on each axis. */
export interface Camera {
	/** Zoom level, and the resulting scale per axis. The slow axis scales differently (see {@link slowScale}). */
	readonly k: number;
	readonly kx: number;
	readonly ky: number;
	readonly tx: number;
	readonly ty: number;
}

export interface Size {
	readonly width: number;
	readonly height: number;
}

export const zoomLimits = { min: 1e-4, max: 4 } as const;

/**
 * Returns the exponent for the slow axis, whose scale is `k ** slowness`. Both axes have the same scale at k = 1, and
 * the levels still fill the window when the whole tree is in view. 1 means that both axes scale equally.
 */
export function slowness(layout: Layout, size: Size, margin: Margin): number {
	const { slow } = layout;
	if (slow === null) return 1;
	const fits = fitting(layout.bounds, size, margin);
	const [fast, slowFit] = slow === 'x' ? [fits.y, fits.x] : [fits.x, fits.y];
	if (fast >= 1 || slowFit <= fast) return 1;
	return Math.log(Math.min(1, slowFit)) / Math.log(fast);
}

/** Space in CSS pixels for content that extends beyond the nodes: labels on the right, the legend at the bottom. */
export interface Margin {
	readonly left: number;
	readonly top: number;
	readonly right: number;
	readonly bottom: number;
}

function fitting(
	{ left, right, top, bottom }: Bounds,
	{ width, height }: Size,
	margin: Margin,
): { x: number; y: number } {
	const room = (whole: number, before: number, after: number): number => Math.max(20, whole - before - after);
	return {
		x: room(width, margin.left, margin.right) / Math.max(1, right - left),
		y: room(height, margin.top, margin.bottom) / Math.max(1, bottom - top),
	};
}

export function cameraAt(k: number, tx: number, ty: number, slow: Layout['slow'], slowness: number): Camera {
	const follows = slowness === 1 ? k : k ** slowness;
	return { k, kx: slow === 'x' ? follows : k, ky: slow === 'y' ? follows : k, tx, ty };
}

/**
 * Returns a camera that fits the whole layout, magnified by a factor of at most `max`. Smaller layouts are centered,
 * but start at the edge along the slow axis.
 */
export function fitCamera(layout: Layout, size: Size, slowness: number, margin: Margin, max = 1): Camera {
	const { bounds, slow } = layout;
	const fits = fitting(bounds, size, margin);
	let k = Math.min(max, slow === 'x' ? fits.y : slow === 'y' ? fits.x : Math.min(fits.x, fits.y));
	// If both axes scale equally, the slow axis must fit as well.
	if (slowness === 1) k = Math.min(k, fits.x, fits.y);
	k = Math.max(zoomLimits.min, k);
	const { kx, ky } = cameraAt(k, 0, 0, slow, slowness);
	const place = (from: number, to: number, scale: number, whole: number, before: number, after: number): number =>
		before + Math.max(0, (whole - before - after - (to - from) * scale) / 2) - from * scale;
	const tx =
		slow === 'x'
			? margin.left - bounds.left * kx
			: place(bounds.left, bounds.right, kx, size.width, margin.left, margin.right);
	const ty = place(bounds.top, bounds.bottom, ky, size.height, margin.top, margin.bottom);
	return cameraAt(k, tx, ty, slow, slowness);
}

/** Zooms to scale `k`, keeping a point of the canvas fixed. */
export function zoomTo(
	camera: Camera,
	k: number,
	px: number,
	py: number,
	slow: Layout['slow'],
	slowness: number,
): Camera {
	const to = cameraAt(Math.max(zoomLimits.min, Math.min(zoomLimits.max, k)), 0, 0, slow, slowness);
	return {
		...to,
		tx: px - ((px - camera.tx) / camera.kx) * to.kx,
		ty: py - ((py - camera.ty) / camera.ky) * to.ky,
	};
}

export function panned(camera: Camera, dx: number, dy: number): Camera {
	return { ...camera, tx: camera.tx + dx, ty: camera.ty + dy };
}

/** Pans by the minimum needed to bring a point into view with the given margins. */
export function revealing(camera: Camera, x: number, y: number, size: Size, room: Margin): Camera {
	const into = (at: number, min: number, max: number): number =>
		max < min ? (min + max) / 2 - at : at < min ? min - at : at > max ? max - at : 0;
	const [sx, sy] = [x * camera.kx + camera.tx, y * camera.ky + camera.ty];
	return panned(camera, into(sx, room.left, size.width - room.right), into(sy, room.top, size.height - room.bottom));
}

/** Returns the part of the layout that is in view. */
export function viewOf(camera: Camera, size: Size, around = 0): Bounds {
	return {
		left: (-around - camera.tx) / camera.kx,
		top: (-around - camera.ty) / camera.ky,
		right: (size.width + around - camera.tx) / camera.kx,
		bottom: (size.height + around - camera.ty) / camera.ky,
	};
}
