import { scaleLinear } from 'd3';
import { formatClock, formatCount } from '../../../src/base/format.ts';
import type { TimeAxis } from '../layout/layout.ts';
import type { Camera, Size } from './camera.ts';
import type { Palette } from './palette.ts';

/** Draws times or event numbers below a timeline. */
export function paintAxis(
	context: CanvasRenderingContext2D,
	axis: TimeAxis,
	camera: Camera,
	size: Size,
	{ theme }: Palette,
): void {
	if (axis.scale === 0) return;
	const unit = axis.scale * camera.kx;
	const scale = scaleLinear()
		.domain([Math.max(0, -camera.tx / unit), Math.min(axis.end, (size.width - camera.tx) / unit)])
		.range([0, 1]);
	const [from, to] = scale.domain() as [number, number];
	if (to <= from) return;
	const height = 22;
	context.fillStyle = theme.background;
	context.fillRect(0, size.height - height, size.width, height);
	context.strokeStyle = theme.grid;
	context.lineWidth = 1;
	context.font = `${Math.round(theme.fontSize * 0.85)}px ${theme.fontFamily}`;
	context.fillStyle = theme.secondary;
	context.textBaseline = 'middle';
	context.beginPath();
	for (const tick of scale.ticks(Math.max(2, Math.round(size.width / 110)))) {
		if (axis.unit === 'events' && !Number.isInteger(tick)) continue;
		const x = tick * unit + camera.tx;
		context.moveTo(x, 0);
		context.lineTo(x, size.height - height);
		const words = axis.unit === 'seconds' ? (axis.end < 20 ? `${tick} s` : formatClock(tick)) : formatCount(tick);
		context.fillText(words, x + 4, size.height - height / 2);
	}
	context.stroke();
}
