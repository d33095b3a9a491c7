import { interpolateViridis } from 'd3';
import type { NodeRole } from '../../../src/protocol/treeLog.ts';
import { type Color, formatColor, over, parseColor, withAlpha, withContrast } from '../../lib/color.ts';
import type { Theme } from '../../lib/theme.ts';

/** Number of steps in the color scale. */
export const shades = 64;

/** A color in CSS form for the canvas and as raw pixel bytes (little endian: alpha, blue, green, red). */
export interface Ink {
	readonly css: string;
	readonly pixel: number;
}

export interface Palette {
	readonly theme: Theme;
	/** Color scale, from lowest to highest value. */
	readonly ramp: readonly Ink[];
	/** Color for nodes without a value. */
	readonly none: Ink;
	readonly edge: Ink;
	/** Color for edges to pruned nodes. */
	readonly faint: Ink;
	readonly best: Ink;
	readonly accent: Ink;
	readonly hit: Ink;
	readonly right: Ink;
	readonly wrong: Ink;
	readonly person: Ink;
	readonly roles: Readonly<Record<NodeRole, Ink>>;
}

/** Index into the theme's series colors for each role. */
const roleSeries: Readonly<Record<NodeRole, number>> = {
	problem: 6,
	thought: 0,
	answer: 2,
	draft: 0,
	critique: 1,
	revision: 3,
	aggregate: 7,
	subproblem: 6,
	tool: 5,
};

export function paletteOf(theme: Theme): Palette {
	const background = parseColor(theme.background) as Color;
	const foreground = parseColor(theme.foreground) as Color;
	const min = theme.highContrast ? 4.5 : 3;
	const ink = (color: Color): Ink => {
		const { r, g, b } = over(color, background);
		const pixel = ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
		return { css: formatColor({ r, g, b, a: 1 }), pixel };
	};
	const read = (text: string): Color => parseColor(text) ?? foreground;
	const series = (index: number): Ink => ink(read(theme.series[index] as string));
	const roles = Object.fromEntries(Object.entries(roleSeries).map(([role, index]) => [role, series(index)])) as Record<
		NodeRole,
		Ink
	>;
	return {
		theme,
		ramp: Array.from({ length: shades }, (_, i) =>
			ink(withContrast(read(interpolateViridis(i / (shades - 1))), background, min)),
		),
		none: ink(withAlpha(foreground, theme.highContrast ? 0.8 : 0.5)),
		edge: ink(withAlpha(foreground, theme.highContrast ? 0.7 : 0.42)),
		faint: ink(withAlpha(foreground, theme.highContrast ? 0.45 : 0.15)),
		best: series(1),
		accent: ink(read(theme.cursor)),
		hit: series(5),
		right: series(2),
		wrong: series(4),
		person: series(7),
		roles,
	};
}

/** Returns the color scale step for a value, or -1 if there is none. */
export function shadeOf(value: number | null, range: { readonly min: number; readonly max: number } | null): number {
	if (value === null || range === null || !Number.isFinite(value)) return -1;
	const share = range.max > range.min ? (value - range.min) / (range.max - range.min) : 1;
	return Math.max(0, Math.min(shades - 1, Math.floor(share * shades)));
}
