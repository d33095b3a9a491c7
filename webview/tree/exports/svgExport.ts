import { formatCount } from '../../../src/base/format.ts';
import { cameraAt } from '../draw/camera.ts';
import { type PathSink, traceEdge, traceLink } from '../draw/edgePath.ts';
import { edgeWidth, inkOf } from '../draw/finePainter.ts';
import { figureOf, wordsOf } from '../draw/nodeLabel.ts';
import { checkMark, crossMark, nodeShapes, radiusOf } from '../draw/nodeShapes.ts';
import type { Palette } from '../draw/palette.ts';
import { isBorn, mark, nodeAt, type Scene } from '../draw/scene.ts';

/** Size limits. Needed because few programs handle larger SVG files well. Labels are omitted first. */
export const svgLimits = { nodes: 60_000, labels: 5000 } as const;
const room = { left: 30, top: 30, right: 220, bottom: 30 } as const;

/** Escapes text for XML content and attribute values. Characters not allowed in XML become spaces. */
export function xmlText(text: string): string {
	return text
		.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, ' ')
		.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const short = (value: number): string => String(Math.round(value * 10) / 10);

/** Builds SVG path data. */
class PathText implements PathSink {
	data = '';
	moveTo(x: number, y: number): void {
		this.data += `M${short(x)},${short(y)}`;
	}
	lineTo(x: number, y: number): void {
		this.data += `L${short(x)},${short(y)}`;
	}
	bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void {
		this.data += `C${short(ax)},${short(ay)},${short(bx)},${short(by)},${short(x)},${short(y)}`;
	}
}

/** Exports all expanded nodes at scale 1, in theme colors. */
export function svgExport(scene: Scene, palette: Palette, title: string): string {
	const { layout, tree, marks, coloring } = scene;
	const { bounds } = layout;
	const width = bounds.right - bounds.left + room.left + room.right;
	const height = bounds.bottom - bounds.top + room.top + room.bottom;
	const camera = cameraAt(1, room.left - bounds.left, room.top - bounds.top, null, 1);
	const places: number[] = [];
	for (let place = 0; place < Math.min(layout.tree.count, svgLimits.nodes); place++) {
		if (isBorn(scene, place)) places.push(place);
	}
	const { theme } = palette;
	const out: string[] = [
		'<?xml version="1.0" encoding="UTF-8"?>',
		`<svg xmlns="http://www.w3.org/2000/svg" width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}" font-family="${xmlText(theme.fontFamily)}" font-size="11">`,
		`<title>${xmlText(title)}</title>`,
		`<rect width="100%" height="100%" fill="${theme.background}"/>`,
		'<g fill="none">',
	];
	const inPicture = new Set(places);
	for (const place of places) {
		const up = layout.tree.parent[place] as number;
		if (up === -1) continue;
		const path = new PathText();
		traceEdge(path, layout, up, place, camera, layout.bends.get(place));
		const bits = marks[place] as number;
		const isBest = (bits & mark.best) !== 0;
		const color = isBest ? palette.best : (bits & mark.pruned) !== 0 ? palette.faint : palette.edge;
		out.push(
			`<path d="${path.data}" stroke="${color.css}" stroke-width="${edgeWidth(scene, place) + (isBest ? 1 : 0)}"/>`,
		);
	}
	for (const link of layout.links) {
		if (!inPicture.has(link.from) || !inPicture.has(link.to)) continue;
		const path = new PathText();
		if (layout.kind === 'layered') traceEdge(path, layout, link.from, link.to, camera, link.bends);
		else traceLink(path, layout, link.from, link.to, camera);
		const isMerge = link.kind === 'merge';
		out.push(
			`<path d="${path.data}" stroke="${(isMerge ? palette.person : palette.edge).css}"${isMerge || layout.kind !== 'layered' ? ' stroke-dasharray="4 4"' : ''}/>`,
		);
	}
	out.push('</g>');
	for (const place of places) {
		const node = nodeAt(scene, place);
		if (node === undefined) continue;
		const x = (layout.x[place] as number) * camera.kx + camera.tx;
		const y = (layout.y[place] as number) * camera.ky + camera.ty;
		const bits = marks[place] as number;
		const radius = radiusOf(node.role);
		const hasValue = scene.shade[place] !== -1;
		const ink = inkOf(scene, place, palette);
		const path = (d: string, size: number, style: string, dx = 0, dy = 0): string =>
			`<path d="${d}" transform="translate(${short(x + dx)} ${short(y + dy)}) scale(${short(size)})" ${style}/>`;
		out.push(
			path(
				nodeShapes[node.role],
				radius,
				`fill="${hasValue ? ink.css : theme.background}" stroke="${theme.foreground}" stroke-width="${short(1.2 / radius)}"${(bits & mark.pruned) !== 0 ? ' opacity="0.4"' : ''}`,
			),
		);
		if ((bits & mark.final) !== 0) {
			out.push(path(nodeShapes[node.role], radius * 1.5, `fill="none" stroke="${ink.css}" stroke-width="0.2"`));
		}
		if ((bits & mark.pruned) !== 0)
			out.push(path(crossMark, radius, `fill="none" stroke="${palette.wrong.css}" stroke-width="0.3"`));
		if ((bits & (mark.right | mark.wrong)) !== 0) {
			const isRight = (bits & mark.right) !== 0;
			out.push(
				path(
					isRight ? checkMark : crossMark,
					4,
					`fill="none" stroke="${(isRight ? palette.right : palette.wrong).css}" stroke-width="0.5"`,
					radius * 1.2,
					-radius * 1.5,
				),
			);
		}
		if (places.length > svgLimits.labels) continue;
		const hidden = layout.tree.hidden[place] as number;
		const words = [
			hidden > 0 ? `+${formatCount(hidden)}` : '',
			figureOf(tree, node, coloring),
			wordsOf(node, layout.labelWidth === 0 ? 120 : Math.max(4, Math.floor(layout.labelWidth / 6.5))),
		];
		out.push(
			`<text x="${short(x + radius * 1.6 + 5)}" y="${short(y - (node.children.length > 0 && layout.kind !== 'indented' ? 4 : -4))}" fill="${theme.foreground}">${xmlText(words.filter((part) => part !== '').join('  '))}</text>`,
		);
	}
	out.push('</svg>', '');
	return out.join('\n');
}
