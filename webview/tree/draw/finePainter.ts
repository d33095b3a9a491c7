import { type NodeRole, nodeRoles } from '../../../src/protocol/treeLog.ts';
import type { Camera, Size } from './camera.ts';
import { viewOf } from './camera.ts';
import { traceEdge, traceLink } from './edgePath.ts';
import { checkMark, crossMark, nodeScale, nodeShapes, radiusOf } from './nodeShapes.ts';
import type { Ink, Palette } from './palette.ts';
import { isBorn, mark, nodeAt, type Scene, widths } from './scene.ts';

/** Outlines as Path2D. Created on first use, because Path2D does not exist outside a page. */
const outlines = new Map<string, Path2D>();
function outline(data: string): Path2D {
	let path = outlines.get(data);
	if (path === undefined) {
		path = new Path2D(data);
		outlines.set(data, path);
	}
	return path;
}

/** Maximum number of non-tree edges drawn for all nodes. Beyond that, only those of the selected node are drawn. */
const maxLinks = 60;

/** Returns the places whose node or edge might be in view. */
export function placesInView(scene: Scene, camera: Camera, size: Size): number[] {
	const { layout } = scene;
	const { x, y } = layout;
	const { parent, count } = layout.tree;
	const view = viewOf(camera, size, 40);
	const places: number[] = [];
	for (let place = 0; place < count; place++) {
		if (!isBorn(scene, place)) continue;
		const up = parent[place] === -1 ? place : (parent[place] as number);
		const [ax, ay, bx, by] = [x[up] as number, y[up] as number, x[place] as number, y[place] as number];
		if (ax < view.left && bx < view.left) continue;
		if (ax > view.right && bx > view.right) continue;
		if (ay < view.top && by < view.top) continue;
		if (ay > view.bottom && by > view.bottom) continue;
		places.push(place);
	}
	return places;
}

export function inkOf(scene: Scene, place: number, palette: Palette): Ink {
	const step = scene.shade[place] as number;
	if (step === -1) return palette.none;
	if (scene.coloring === 'role') return palette.roles[nodeRoles[step] as NodeRole];
	return palette.ramp[step] as Ink;
}

export function edgeWidth(scene: Scene, place: number): number {
	return 1 + (scene.width[place] as number) * (3 / (widths - 1));
}

/** Draws nodes with shapes, marks and edges, when there are few enough to distinguish. */
export function paintFine(
	context: CanvasRenderingContext2D,
	scene: Scene,
	camera: Camera,
	places: readonly number[],
	palette: Palette,
	chosen: number,
): void {
	paintEdges(context, scene, camera, places, palette);
	paintLinks(context, scene, camera, places, palette, chosen);
	const scale = nodeScale(camera.k);
	for (const place of places) paintNode(context, scene, camera, place, palette, scale);
}

function paintEdges(
	context: CanvasRenderingContext2D,
	scene: Scene,
	camera: Camera,
	places: readonly number[],
	palette: Palette,
): void {
	const { layout, marks, width } = scene;
	// Wide edges between close siblings would merge into a solid area.
	const thin = Math.max(0.45, Math.min(1, nodeScale(camera.k)));
	// Batch edges with the same style into one path.
	const groups = new Map<number, number[]>();
	for (const place of places) {
		if (layout.tree.parent[place] === -1) continue;
		const bits = marks[place] as number;
		const style = (bits & mark.best) !== 0 ? 2 : (bits & mark.pruned) !== 0 ? 0 : 1;
		const key = style * widths + (width[place] as number);
		const group = groups.get(key);
		if (group) group.push(place);
		else groups.set(key, [place]);
	}
	for (const [key, group] of [...groups].sort(([a], [b]) => a - b)) {
		const style = Math.floor(key / widths);
		context.beginPath();
		for (const place of group) {
			traceEdge(context, layout, layout.tree.parent[place] as number, place, camera, layout.bends.get(place));
		}
		context.strokeStyle = [palette.faint, palette.edge, palette.best][style]?.css as string;
		context.lineWidth = edgeWidth(scene, group[0] as number) * thin + (style === 2 ? 1 : 0);
		context.setLineDash(style === 0 ? [3, 3] : []);
		context.stroke();
	}
	context.setLineDash([]);
}

function paintLinks(
	context: CanvasRenderingContext2D,
	scene: Scene,
	camera: Camera,
	places: readonly number[],
	palette: Palette,
	chosen: number,
): void {
	const { layout } = scene;
	if (layout.links.length === 0) return;
	const inView = new Set(places);
	const isMany = layout.kind !== 'layered' && layout.links.length > maxLinks;
	for (const kind of ['parent', 'merge'] as const) {
		context.beginPath();
		for (const link of layout.links) {
			if (link.kind !== kind || (!inView.has(link.from) && !inView.has(link.to))) continue;
			// Too many links would hide the tree, so keep only those of the selected node.
			if (isMany && link.from !== chosen && link.to !== chosen) continue;
			if (!isBorn(scene, link.from) || !isBorn(scene, link.to)) continue;
			// The merge has not happened yet at this replay position.
			if (kind === 'merge' && nodeAt(scene, link.from)?.mergedInto === null) continue;
			if (layout.kind === 'layered') traceEdge(context, layout, link.from, link.to, camera, link.bends);
			else traceLink(context, layout, link.from, link.to, camera);
		}
		context.strokeStyle = kind === 'merge' ? palette.person.css : palette.edge.css;
		context.lineWidth = 1.2;
		context.setLineDash(kind === 'merge' ? [2, 4] : layout.kind === 'layered' ? [] : [6, 4]);
		context.stroke();
	}
	context.setLineDash([]);
}

function paintNode(
	context: CanvasRenderingContext2D,
	scene: Scene,
	camera: Camera,
	place: number,
	palette: Palette,
	scale: number,
): void {
	const node = nodeAt(scene, place);
	if (node === undefined) return;
	const { layout, marks } = scene;
	const bits = marks[place] as number;
	const radius = radiusOf(node.role) * scale;
	const x = (layout.x[place] as number) * camera.kx + camera.tx;
	const y = (layout.y[place] as number) * camera.ky + camera.ty;
	const ink = inkOf(scene, place, palette);
	const hasValue = scene.shade[place] !== -1;
	const isPruned = (bits & mark.pruned) !== 0;
	const stroke = (data: string, color: string, width: number, size = radius): void => {
		context.save();
		context.translate(x, y);
		context.scale(size, size);
		context.lineWidth = width / size;
		context.strokeStyle = color;
		context.stroke(outline(data));
		context.restore();
	};
	const shape = nodeShapes[node.role];
	if ((bits & (mark.hit | mark.same)) !== 0) {
		context.beginPath();
		context.arc(x, y, radius + 5, 0, 2 * Math.PI);
		context.strokeStyle = (bits & mark.hit) !== 0 ? palette.hit.css : palette.accent.css;
		context.lineWidth = 2.5;
		context.stroke();
	}
	context.save();
	context.translate(x, y);
	context.scale(radius, radius);
	const path = outline(shape);
	// Hide whatever is behind the node.
	context.fillStyle = palette.theme.background;
	context.fill(path);
	if (hasValue) {
		context.fillStyle = ink.css;
		if (isPruned) context.globalAlpha = 0.35;
		context.fill(path);
		context.globalAlpha = 1;
	}
	context.lineWidth = (scale < 0.75 ? 0.7 : 1.2) / radius;
	if ((bits & mark.merged) !== 0) context.setLineDash([2 / radius, 2 / radius]);
	context.strokeStyle = !hasValue || isPruned ? palette.none.css : scale < 0.75 ? ink.css : palette.theme.foreground;
	context.stroke(path);
	context.restore();
	if ((bits & mark.final) !== 0) stroke(shape, ink.css, 1.4, radius * 1.55);
	if (isPruned) stroke(crossMark, palette.wrong.css, 1.6, radius * 0.95);
	if ((bits & (mark.right | mark.wrong)) !== 0 && scale > 0.5) {
		const isRight = (bits & mark.right) !== 0;
		context.save();
		context.translate(x + radius * 1.2, y - radius * 1.5);
		context.scale(4, 4);
		context.lineWidth = 0.95;
		context.strokeStyle = palette.theme.background;
		const sign = outline(isRight ? checkMark : crossMark);
		context.stroke(sign);
		context.lineWidth = 0.5;
		context.strokeStyle = isRight ? palette.right.css : palette.wrong.css;
		context.stroke(sign);
		context.restore();
	}
	if ((bits & mark.person) !== 0) {
		context.beginPath();
		context.arc(x - radius * 1.1, y - radius * 1.1, 2.6, 0, 2 * Math.PI);
		context.fillStyle = palette.person.css;
		context.fill();
		context.strokeStyle = palette.theme.background;
		context.lineWidth = 1;
		context.stroke();
	}
}

/** Draws the latest event's path or nodes on top of everything else. */
export function paintTouched(context: CanvasRenderingContext2D, scene: Scene, camera: Camera, palette: Palette): void {
	const { layout, touched, touchedBy } = scene;
	if (touched.length === 0 || touchedBy === null || touchedBy === 'end') return;
	context.strokeStyle = palette.accent.css;
	if (touchedBy === 'visit' || touchedBy === 'select') {
		context.beginPath();
		for (const place of touched) {
			const up = layout.tree.parent[place] as number;
			if (up !== -1 && touched.includes(up)) {
				traceEdge(context, layout, up, place, camera, layout.bends.get(place));
			}
		}
		context.lineWidth = 3;
		// Backup runs in the opposite direction to selection.
		context.setLineDash(touchedBy === 'visit' ? [7, 4] : []);
		context.stroke();
		context.setLineDash([]);
	}
	const scale = nodeScale(camera.k);
	for (const place of touched) {
		const node = nodeAt(scene, place);
		if (node === undefined) continue;
		context.beginPath();
		context.arc(
			(layout.x[place] as number) * camera.kx + camera.tx,
			(layout.y[place] as number) * camera.ky + camera.ty,
			radiusOf(node.role) * scale * 1.5 + 3,
			0,
			2 * Math.PI,
		);
		context.lineWidth = 2;
		context.stroke();
	}
}

/** Draws a ring around a selected or hovered node. */
export function paintRing(
	context: CanvasRenderingContext2D,
	scene: Scene,
	camera: Camera,
	place: number,
	palette: Palette,
	isSelected: boolean,
): void {
	const node = nodeAt(scene, place);
	if (node === undefined) return;
	const x = (scene.layout.x[place] as number) * camera.kx + camera.tx;
	const y = (scene.layout.y[place] as number) * camera.ky + camera.ty;
	const radius = radiusOf(node.role) * nodeScale(camera.k) * 1.6 + 4;
	context.beginPath();
	context.arc(x, y, radius, 0, 2 * Math.PI);
	context.strokeStyle = palette.theme.background;
	context.lineWidth = 5;
	context.stroke();
	context.strokeStyle = isSelected ? palette.accent.css : palette.theme.secondary;
	context.lineWidth = isSelected ? 3 : 2;
	context.stroke();
}
