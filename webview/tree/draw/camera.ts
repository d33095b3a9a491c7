import type { Bounds, Layout } from '../layout/layout.ts';

/** From lengths of the layout to CSS pixels of the canvas: `screen = k * layout + t` on each axis. */
export interface Camera {
	/** Scale of the axis that is zoomed freely, and of the other one (see {@link slowScale}). */
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

export const zoomLimits = { least: 1e-4, most: 4 } as const;

/**
 * How the scale of the slow axis follows: `k ** slowness`. At scale 1 both are alike; where all of the tree is in view, the
 * levels still fill the window. 1: both axes alike.
 */
export function slowness(layout: Layout, size: Size, margin: Margin): number {
	const { slow } = layout;
	if (slow === null) return 1;
	const fits = fitting(layout.bounds, size, margin);
	const [fast, slowFit] = slow === 'x' ? [fits.y, fits.x] : [fits.x, fits.y];
	if (fast >= 1 || slowFit <= fast) return 1;
	return Math.log(Math.min(1, slowFit)) / Math.log(fast);
}

/** Room for what sticks out of the nodes: labels on the right, the legend below. CSS pixels. */
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

/** All in view, at most `most` times its size; what is smaller than the view lies in its middle, across at its beginning. */
export function fitCamera(layout: Layout, size: Size, slowness: number, margin: Margin, most = 1): Camera {
	const { bounds, slow } = layout;
	const fits = fitting(bounds, size, margin);
	let k = Math.min(most, slow === 'x' ? fits.y : slow === 'y' ? fits.x : Math.min(fits.x, fits.y));
	// Where the slow axis goes at the same rate, it must fit as well.
	if (slowness === 1) k = Math.min(k, fits.x, fits.y);
	k = Math.max(zoomLimits.least, k);
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

/** Zooms to the scale `k` around a point of the canvas, which stays where it is. */
export function zoomTo(
	camera: Camera,
	k: number,
	px: number,
	py: number,
	slow: Layout['slow'],
	slowness: number,
): Camera {
	const to = cameraAt(Math.max(zoomLimits.least, Math.min(zoomLimits.most, k)), 0, 0, slow, slowness);
	return {
		...to,
		tx: px - ((px - camera.tx) / camera.kx) * to.kx,
		ty: py - ((py - camera.ty) / camera.ky) * to.ky,
	};
}

export function panned(camera: Camera, dx: number, dy: number): Camera {
	return { ...camera, tx: camera.tx + dx, ty: camera.ty + dy };
}

/** Moved as little as brings a point into the view, with room around it. */
export function revealing(camera: Camera, x: number, y: number, size: Size, room: Margin): Camera {
	const into = (at: number, least: number, most: number): number =>
		most < least ? (least + most) / 2 - at : at < least ? least - at : at > most ? most - at : 0;
	const [sx, sy] = [x * camera.kx + camera.tx, y * camera.ky + camera.ty];
	return panned(camera, into(sx, room.left, size.width - room.right), into(sy, room.top, size.height - room.bottom));
}

/** The part of the layout that is in view. */
export function viewOf(camera: Camera, size: Size, around = 0): Bounds {
	return {
		left: (-around - camera.tx) / camera.kx,
		top: (-around - camera.ty) / camera.ky,
		right: (size.width + around - camera.tx) / camera.kx,
		bottom: (size.height + around - camera.ty) / camera.ky,
	};
}
