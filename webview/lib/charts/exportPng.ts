import { Failure } from '../../../src/base/failure.ts';
import type { Theme } from '../theme.ts';

export interface LegendEntry {
	readonly label: string;
	readonly color: string;
}

export interface PictureOptions {
	readonly title: string;
	readonly subtitle: string;
	readonly legend: readonly LegendEntry[];
	readonly theme: Theme;
}

/** Wraps legend entries into lines of a given width; returns the entry indices for each line. Pure. */
export function wrapEntries(widths: readonly number[], gap: number, width: number): number[][] {
	const lines: number[][] = [];
	let line: number[] = [];
	let used = 0;
	widths.forEach((entry, i) => {
		if (line.length > 0 && used + gap + entry > width) {
			lines.push(line);
			line = [];
			used = 0;
		}
		used += (line.length > 0 ? gap : 0) + entry;
		line.push(i);
	});
	if (line.length > 0) lines.push(line);
	return lines;
}

/** Renders a chart's canvas with title and legend on the theme's background as a PNG. */
export async function chartPicture(
	chart: HTMLCanvasElement,
	options: PictureOptions,
): Promise<Uint8Array<ArrayBuffer>> {
	const { theme } = options;
	const ratio = devicePixelRatio;
	const pad = 12 * ratio;
	const size = theme.fontSize * ratio;
	const picture = document.createElement('canvas');
	const context = picture.getContext('2d');
	if (!context) throw new Failure('unsupported', 'Cannot create the image: no canvas context.');
	const font = (px: number, weight = 'normal'): string => `${weight} ${px}px ${theme.fontFamily}`;
	context.font = font(size - 2 * ratio);
	const swatch = size * 0.7;
	const widths = options.legend.map((entry) => swatch + 6 * ratio + context.measureText(entry.label).width);
	const lines = wrapEntries(widths, 16 * ratio, chart.width);
	const lineHeight = size * 1.5;
	const top = pad + size * 1.5 + size * 1.4 + lines.length * lineHeight + pad / 2;
	picture.width = chart.width + 2 * pad;
	picture.height = top + chart.height + pad;
	context.fillStyle = theme.background;
	context.fillRect(0, 0, picture.width, picture.height);
	context.textBaseline = 'top';
	context.fillStyle = theme.foreground;
	context.font = font(size * 1.15, '600');
	context.fillText(options.title, pad, pad, chart.width);
	context.font = font(size - 2 * ratio);
	context.fillStyle = theme.secondary;
	context.fillText(options.subtitle, pad, pad + size * 1.6, chart.width);
	lines.forEach((line, i) => {
		let x = pad;
		const y = pad + size * 3.1 + i * lineHeight;
		for (const index of line) {
			const entry = options.legend[index] as LegendEntry;
			context.fillStyle = entry.color;
			context.fillRect(x, y + size * 0.1, swatch, swatch);
			context.fillStyle = theme.foreground;
			context.fillText(entry.label, x + swatch + 6 * ratio, y);
			x += (widths[index] as number) + 16 * ratio;
		}
	});
	context.drawImage(chart, pad, top);
	const blob = await new Promise<Blob | null>((resolve) => picture.toBlob(resolve, 'image/png'));
	if (!blob) throw new Failure('internal', `Cannot encode ${options.title} as a PNG image.`);
	return new Uint8Array(await blob.arrayBuffer());
}
