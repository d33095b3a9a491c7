import { formatCount } from '../../../src/base/format.ts';
import type { SearchTree } from '../../../src/core/search/searchTree.ts';
import type { Theme } from '../../lib/theme.ts';
import type { Layout } from '../layout/layout.ts';
import type { Camera, Size } from './camera.ts';
import { cutTo, figureOf, wordsOf } from './nodeLabel.ts';
import { nodeScale, radiusOf } from './nodeShapes.ts';
import type { Palette } from './palette.ts';
import { mark, nodeAt, type Scene } from './scene.ts';

/** Minimum row height for labels, in CSS pixels. */
const minRow = 13;
const minWidth = 34;

/** For layouts with levels side by side: distance from each place to the nearest one on the same level. */
const gaps = new WeakMap<Layout, Float64Array>();

function gapsOf(layout: Layout): Float64Array {
	let found = gaps.get(layout);
	if (found !== undefined) return found;
	const { count, depth, deepest } = layout.tree;
	found = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
	const last = new Int32Array(deepest + 1).fill(-1);
	// In preorder, nodes on the same level appear in order.
	for (let place = 0; place < count; place++) {
		const level = depth[place] as number;
		const before = last[level] as number;
		last[level] = place;
		if (before === -1) continue;
		const gap = Math.abs((layout.y[place] as number) - (layout.y[before] as number));
		found[place] = Math.min(found[place] as number, gap);
		found[before] = Math.min(found[before] as number, gap);
	}
	gaps.set(layout, found);
	return found;
}

/** Truncated labels by tree, cached because measuring text is slow. */
const cuts = new WeakMap<SearchTree, Map<string, string>>();
const maxCuts = 4000;

/** Returns whether there might be room for labels at this scale. */
export function hasLabels(scene: Scene, camera: Camera): boolean {
	if (scene.layout.kind === 'tidy') return true;
	return scene.layout.rowHeight * acrossScale(scene, camera) >= minRow;
}

/** Returns the scale of the axis along which labels are stacked. */
function acrossScale({ layout }: Scene, camera: Camera): number {
	return layout.slow === 'x' ? camera.ky : layout.slow === 'y' ? camera.kx : camera.k;
}

/** Returns a function that truncates label text to the available width. */
function cutter(tree: SearchTree, fontSize: number, width: (text: string) => number) {
	let known = cuts.get(tree);
	if (known === undefined || known.size > maxCuts) {
		known = new Map();
		cuts.set(tree, known);
	}
	const texts = known;
	return (words: string, room: number): string => {
		// Round the width so that small zoom changes hit the cache.
		const within = Math.floor(room / 6) * 6;
		const key = `${within} ${fontSize} ${words}`;
		let text = texts.get(key);
		if (text === undefined) {
			text = cutTo(words, within, width);
			texts.set(key, text);
		}
		return text;
	};
}

function pens(context: CanvasRenderingContext2D, theme: Theme, fontSize: number) {
	/** Clears the background behind a label, so edges leaving to the right do not cross the text. */
	const clear = (x: number, y: number, wide: number): void => {
		context.fillStyle = theme.background;
		context.fillRect(x - 2, y - fontSize * 0.6, wide + 4, fontSize * 1.2);
	};
	const write = (text: string, x: number, y: number, color: string): number => {
		context.lineWidth = 5;
		context.strokeStyle = theme.background;
		context.strokeText(text, x, y);
		context.fillStyle = color;
		context.fillText(text, x, y);
		return context.measureText(text).width;
	};
	return { clear, write };
}

/** Draws labels next to nodes. Label text is drawn literally and never interpreted as code or markup. */
export function paintLabels(
	context: CanvasRenderingContext2D,
	scene: Scene,
	camera: Camera,
	size: Size,
	places: readonly number[],
	palette: Palette,
): void {
	const { layout, tree, coloring, marks } = scene;
	const { theme } = palette;
	const fontSize = Math.round(theme.fontSize * 0.88);
	context.font = `${fontSize}px ${theme.fontFamily}`;
	context.textBaseline = 'middle';
	context.lineJoin = 'round';
	const width = (text: string): number => context.measureText(text).width;
	const scale = nodeScale(camera.k);
	const across = acrossScale(scene, camera);
	const levelGaps = layout.kind === 'tidy' ? gapsOf(layout) : null;
	const cut = cutter(tree, fontSize, width);
	const { clear, write } = pens(context, theme, fontSize);
	for (const place of places) {
		const node = nodeAt(scene, place);
		if (node === undefined) continue;
		const x = (layout.x[place] as number) * camera.kx + camera.tx;
		const y = (layout.y[place] as number) * camera.ky + camera.ty;
		if (x < -220 || x > size.width || y < -20 || y > size.height + 20) continue;
		const gap = levelGaps === null ? Number.POSITIVE_INFINITY : (levelGaps[place] as number) * across;
		if (gap < minRow) continue;
		const room = roomOf(scene, camera, place);
		if (room < minWidth) continue;
		const radius = radiusOf(node.role) * scale;
		const hidden =
			((marks[place] as number) & mark.collapsed) !== 0 ? `+${formatCount(layout.tree.hidden[place])}` : '';
		const figure = figureOf(tree, node, coloring);
		const color = node.pruned === null ? theme.foreground : theme.secondary;
		const isRadial = layout.kind === 'radial';
		const angle = isRadial ? Math.atan2(layout.y[place] as number, layout.x[place] as number) : 0;
		const isTurned = isRadial && Math.abs(angle) > Math.PI / 2;
		const apart = radius * 1.6 + 5;
		if (isRadial && place > 0) {
			context.save();
			context.translate(x, y);
			context.rotate(isTurned ? angle + Math.PI : angle);
			context.textAlign = isTurned ? 'right' : 'left';
			// There is only room for a number between the rings.
			const isLeaf = hidden !== '' || node.children.length === 0;
			const parts = isLeaf ? [hidden, figure, wordsOf(node)] : [figure];
			const text = cut(parts.filter(Boolean).join('  '), isLeaf ? 150 : room);
			write(text, isTurned ? -apart : apart, 0, color);
			context.restore();
			continue;
		}
		context.textAlign = 'left';
		// Place the label above edges that leave to the right.
		const rows = levelGaps === null ? layout.rowHeight * across : gap;
		const isAbove = rows >= 20 && layout.kind !== 'indented' && layout.kind !== 'down';
		const isOpen = isAbove && hidden === '' && node.children.length > 0;
		const line = y - (isOpen ? fontSize * 0.62 : 0);
		let at = x + apart;
		const left = room;
		const label = cut(
			wordsOf(node),
			[hidden, figure].reduce((room, text) => room - (text === '' ? 0 : width(text) + 6), left),
		);
		if (isOpen) {
			const parts = [hidden, figure, label].filter((text) => text !== '');
			const wide = parts.reduce((sum, text) => sum + width(text), 6 * Math.max(0, parts.length - 1));
			if (wide > 0) clear(at, line, wide);
		}
		for (const [text, ink] of [
			[hidden, palette.best.css],
			[figure, theme.secondary],
		] as const) {
			if (text === '') continue;
			const used = write(text, at, line, ink) + 6;
			at += used;
		}
		if (label !== '') write(label, at, line, color);
	}
	context.textAlign = 'left';
}

/** Returns the space for a label up to the next node, in pixels. */
function roomOf(scene: Scene, camera: Camera, place: number): number {
	const { layout } = scene;
	if (layout.labelWidth === 0) return 900;
	if (layout.kind === 'timeline') {
		const next = place + 1;
		const isNext = next < layout.tree.count && layout.tree.parent[next] === place;
		const gap = isNext ? ((layout.x[next] as number) - (layout.x[place] as number)) * camera.kx - 26 : 200;
		return Math.min(220, gap);
	}
	return layout.labelWidth * camera.kx;
}
