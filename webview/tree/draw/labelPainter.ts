import { formatCount } from '../../lib/format.ts';
import type { Camera, Size } from './camera.ts';
import { cutTo, figureOf, wordsOf } from './nodeLabel.ts';
import { nodeScale, radiusOf } from './nodeShapes.ts';
import type { Palette } from './palette.ts';
import { mark, nodeAt, type Scene } from './scene.ts';

/** Labels stand where lines of text have this much room, in CSS pixels. */
const leastRow = 13;
const leastWidth = 34;

/** Whether there is room for labels at this scale. */
export function hasLabels(scene: Scene, camera: Camera): boolean {
	return scene.layout.rowHeight * acrossScale(scene, camera) >= leastRow;
}

/** Scale of the axis along which labels stand one below the other. */
function acrossScale({ layout }: Scene, camera: Camera): number {
	return layout.slow === 'x' ? camera.ky : layout.slow === 'y' ? camera.kx : camera.k;
}

/** Writes what nodes say beside them. Texts are drawn as texts: nothing of them is code or markup. */
export function paintLabels(
	context: CanvasRenderingContext2D,
	scene: Scene,
	camera: Camera,
	size: Size,
	places: readonly number[],
	palette: Palette,
): void {
	const { layout, tree, colouring, marks } = scene;
	const { theme } = palette;
	const fontSize = Math.round(theme.fontSize * 0.88);
	context.font = `${fontSize}px ${theme.fontFamily}`;
	context.textBaseline = 'middle';
	context.lineJoin = 'round';
	const width = (text: string): number => context.measureText(text).width;
	const scale = nodeScale(camera.k);
	const across = acrossScale(scene, camera);
	const write = (text: string, x: number, y: number, colour: string): number => {
		context.lineWidth = 5;
		context.strokeStyle = theme.background;
		context.strokeText(text, x, y);
		context.fillStyle = colour;
		context.fillText(text, x, y);
		return width(text);
	};
	for (const place of places) {
		const node = nodeAt(scene, place);
		if (node === undefined) continue;
		const x = (layout.x[place] as number) * camera.kx + camera.tx;
		const y = (layout.y[place] as number) * camera.ky + camera.ty;
		if (x < -220 || x > size.width || y < -20 || y > size.height + 20) continue;
		const room = roomOf(scene, camera, place);
		if (room < leastWidth) continue;
		const radius = radiusOf(node.role) * scale;
		const hidden =
			((marks[place] as number) & mark.collapsed) !== 0 ? `+${formatCount(layout.tree.hidden[place])}` : '';
		const figure = figureOf(tree, node, colouring);
		const colour = node.pruned === null ? theme.foreground : theme.secondary;
		const isRadial = layout.kind === 'radial';
		const angle = isRadial ? Math.atan2(layout.y[place] as number, layout.x[place] as number) : 0;
		const isTurned = isRadial && Math.abs(angle) > Math.PI / 2;
		const gap = radius * 1.6 + 5;
		if (isRadial && place > 0) {
			context.save();
			context.translate(x, y);
			context.rotate(isTurned ? angle + Math.PI : angle);
			context.textAlign = isTurned ? 'right' : 'left';
			// Between the rings there is no room for more than a number.
			const isLeaf = hidden !== '' || node.children.length === 0;
			const parts = isLeaf ? [hidden, figure, wordsOf(node)] : [figure];
			const text = cutTo(parts.filter(Boolean).join('  '), isLeaf ? 150 : room, width);
			write(text, isTurned ? -gap : gap, 0, colour);
			context.restore();
			continue;
		}
		context.textAlign = 'left';
		// Above the edges that leave to the right.
		const hasRoom = layout.rowHeight * across >= 20 && layout.kind !== 'indented' && layout.kind !== 'down';
		const isOpen = hasRoom && hidden === '' && node.children.length > 0;
		const line = y - (isOpen ? fontSize * 0.62 : 0);
		let at = x + gap;
		let left = room;
		for (const [text, ink] of [
			[hidden, palette.best.css],
			[figure, theme.secondary],
		] as const) {
			if (text === '') continue;
			const used = write(text, at, line, ink) + 6;
			at += used;
			left -= used;
		}
		const text = cutTo(wordsOf(node), left, width);
		if (text !== '') write(text, at, line, colour);
	}
	context.textAlign = 'left';
}

/** Pixels for a label, until the next node. */
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
