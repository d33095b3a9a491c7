import type uPlot from 'uplot';
import type { Theme } from '../theme.ts';

/** Event at an x position. */
export interface PlotMark {
	readonly x: number;
	readonly kind: 'stage' | 'checkpoint' | 'hyperparameters' | 'alert' | 'lifecycle' | 'pin';
	readonly label: string;
}

/**
 * Draws stage boundaries as lines and other marks as small shapes at the lower edge, in device pixels.
 *
 * @param labeled whether the lines are labeled with the stage names
 */
export function drawMarks(u: uPlot, marks: readonly PlotMark[], theme: Theme, labeled = true): void {
	const { ctx, bbox } = u;
	const ratio = devicePixelRatio;
	ctx.save();
	ctx.beginPath();
	// Shapes at the ends of the axis are drawn in full.
	const size = 3.5 * ratio;
	ctx.rect(bbox.left - size, bbox.top, bbox.width + 2 * size, bbox.height);
	ctx.clip();
	let labelEnd = Number.NEGATIVE_INFINITY;
	const lastOfKind = new Map<string, number>();
	for (const mark of marks) {
		const x = Math.round(u.valToPos(mark.x, 'x', true));
		// The first stage starts at step 0, just before the first row, and axis widths differ by rounding.
		if (x < bbox.left - size || x > bbox.left + bbox.width + size) continue;
		if (mark.kind === 'pin') {
			ctx.strokeStyle = theme.cursor;
			ctx.lineWidth = 1.5 * ratio;
			ctx.setLineDash([]);
			ctx.beginPath();
			ctx.moveTo(x + 0.5, bbox.top);
			ctx.lineTo(x + 0.5, bbox.top + bbox.height);
			ctx.stroke();
			continue;
		}
		if (mark.kind === 'stage') {
			ctx.strokeStyle = theme.secondary;
			ctx.lineWidth = ratio;
			ctx.setLineDash([4 * ratio, 3 * ratio]);
			ctx.beginPath();
			ctx.moveTo(x + 0.5, bbox.top);
			ctx.lineTo(x + 0.5, bbox.top + bbox.height);
			ctx.stroke();
			if (!labeled) continue;
			ctx.font = `${Math.max(9, theme.fontSize - 3) * ratio}px ${theme.fontFamily}`;
			ctx.textBaseline = 'top';
			ctx.textAlign = 'left';
			ctx.fillStyle = theme.secondary;
			const width = ctx.measureText(mark.label).width;
			const left = x + 4 * ratio;
			if (left > labelEnd && left + width < bbox.left + bbox.width) {
				ctx.fillText(mark.label, left, bbox.top + 2 * ratio);
				labelEnd = left + width + 4 * ratio;
			}
			continue;
		}
		// Avoid drawing thousands of overlapping shapes, such as checkpoints.
		if (x - (lastOfKind.get(mark.kind) ?? Number.NEGATIVE_INFINITY) < 3 * ratio) continue;
		lastOfKind.set(mark.kind, x);
		// Keep the data behind the marks visible.
		ctx.globalAlpha = mark.kind === 'alert' ? 1 : 0.6;
		drawShape(ctx, mark.kind, x, bbox.top + bbox.height - 1, size, theme);
		ctx.globalAlpha = 1;
	}
	ctx.restore();
}

function drawShape(
	ctx: CanvasRenderingContext2D,
	kind: PlotMark['kind'],
	x: number,
	bottom: number,
	size: number,
	theme: Theme,
): void {
	ctx.setLineDash([]);
	ctx.fillStyle = kind === 'alert' ? theme.warning : kind === 'hyperparameters' ? theme.cursor : theme.secondary;
	ctx.beginPath();
	if (kind === 'checkpoint') {
		ctx.moveTo(x - size, bottom);
		ctx.lineTo(x + size, bottom);
		ctx.lineTo(x, bottom - size * 1.4);
	} else if (kind === 'lifecycle') {
		ctx.rect(x - size / 4, bottom - size * 2, size / 2, size * 2);
	} else {
		ctx.moveTo(x, bottom);
		ctx.lineTo(x + size, bottom - size);
		ctx.lineTo(x, bottom - 2 * size);
		ctx.lineTo(x - size, bottom - size);
	}
	ctx.closePath();
	ctx.fill();
}
