import type { Layout } from '../layout/layout.ts';
import type { Camera } from './camera.ts';

/** Drawing target for an edge: a canvas, a Path2D, or an SVG writer. */
export interface PathSink {
	moveTo(x: number, y: number): void;
	lineTo(x: number, y: number): void;
	bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void;
}

/** Traces the edge between two places through its bends, in canvas pixels. */
export function traceEdge(
	sink: PathSink,
	layout: Layout,
	from: number,
	to: number,
	camera: Camera,
	bends: readonly number[] | null | undefined,
): void {
	const px = (x: number): number => x * camera.kx + camera.tx;
	const py = (y: number): number => y * camera.ky + camera.ty;
	let [ax, ay] = [px(layout.x[from] as number), py(layout.y[from] as number)];
	sink.moveTo(ax, ay);
	const go = (bx: number, by: number): void => {
		traceStep(sink, layout.edge, ax, ay, bx, by);
		[ax, ay] = [bx, by];
	};
	for (let i = 0; bends && i + 1 < bends.length; i += 2) go(px(bends[i] as number), py(bends[i + 1] as number));
	go(px(layout.x[to] as number), py(layout.y[to] as number));
}

function traceStep(sink: PathSink, edge: Layout['edge'], ax: number, ay: number, bx: number, by: number): void {
	switch (edge) {
		case 'right': {
			const middle = (ax + bx) / 2;
			// Neighbors in the same column, or a backward edge: route around the outside.
			if (bx <= ax) {
				const out = Math.max(ax, bx) + 40;
				sink.bezierCurveTo(out, ay, out, by, bx, by);
			} else sink.bezierCurveTo(middle, ay, middle, by, bx, by);
			break;
		}
		case 'down': {
			const middle = (ay + by) / 2;
			sink.bezierCurveTo(ax, middle, bx, middle, bx, by);
			break;
		}
		case 'elbow':
			sink.lineTo(ax, by);
			sink.lineTo(bx, by);
			break;
		case 'straight':
			sink.lineTo(bx, by);
			break;
	}
}

/** Traces a non-tree edge as an arc, so it does not overlap other edges. */
export function traceLink(sink: PathSink, layout: Layout, from: number, to: number, camera: Camera): void {
	const ax = (layout.x[from] as number) * camera.kx + camera.tx;
	const ay = (layout.y[from] as number) * camera.ky + camera.ty;
	const bx = (layout.x[to] as number) * camera.kx + camera.tx;
	const by = (layout.y[to] as number) * camera.ky + camera.ty;
	const [dx, dy] = [bx - ax, by - ay];
	const bow = 0.18;
	const [cx, cy] = [(ax + bx) / 2 - dy * bow, (ay + by) / 2 + dx * bow];
	sink.moveTo(ax, ay);
	sink.bezierCurveTo(ax + (cx - ax) * 0.8, ay + (cy - ay) * 0.8, bx + (cx - bx) * 0.8, by + (cy - by) * 0.8, bx, by);
}
