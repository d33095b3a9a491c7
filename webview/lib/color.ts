/** Color with red, green and blue in 0..255 and alpha in 0..1. */
export interface Color {
	readonly r: number;
	readonly g: number;
	readonly b: number;
	readonly a: number;
}

const byte = (text: string): number => Number.parseInt(text, 16);

/** Parses the formats that VS Code uses for theme colors: #rgb, #rgba, #rrggbb, #rrggbbaa, rgb(), rgba(). */
export function parseColor(text: string): Color | null {
	const value = text.trim().toLowerCase();
	if (value === 'transparent') return { r: 0, g: 0, b: 0, a: 0 };
	const hex = /^#([0-9a-f]{3,8})$/.exec(value)?.[1];
	if (hex !== undefined) {
		const digits = hex.length <= 4 ? [...hex].map((c) => c + c).join('') : hex;
		if (digits.length !== 6 && digits.length !== 8) return null;
		const alpha = digits.length === 8 ? byte(digits.slice(6, 8)) / 255 : 1;
		return { r: byte(digits.slice(0, 2)), g: byte(digits.slice(2, 4)), b: byte(digits.slice(4, 6)), a: alpha };
	}
	const parts = /^rgba?\(([^)]*)\)$/
		.exec(value)?.[1]
		?.split(/[\s,/]+/)
		.filter(Boolean);
	if (!parts || parts.length < 3) return null;
	const [r, g, b, a = 1] = parts.map((part) => (part.endsWith('%') ? Number(part.slice(0, -1)) / 100 : Number(part)));
	if (![r, g, b, a].every((x) => Number.isFinite(x))) return null;
	return { r: r as number, g: g as number, b: b as number, a };
}

export function formatColor({ r, g, b, a }: Color): string {
	return `rgba(${Math.round(r)}, ${Math.round(g)}, ${Math.round(b)}, ${Number(a.toFixed(3))})`;
}

export function withAlpha(color: Color, a: number): Color {
	return { ...color, a };
}

/** Returns the visible color of `top` over an opaque `bottom`. */
export function over(top: Color, bottom: Color): Color {
	const blend = (x: number, y: number): number => x * top.a + y * (1 - top.a);
	return { r: blend(top.r, bottom.r), g: blend(top.g, bottom.g), b: blend(top.b, bottom.b), a: 1 };
}

/** Relative luminance (WCAG 2.1). */
export function luminance({ r, g, b }: Color): number {
	const linear = (x: number): number => {
		const c = x / 255;
		return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
	};
	return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Contrast ratio between two opaque colors (WCAG 2.1), from 1 to 21. */
export function contrast(one: Color, other: Color): number {
	const [low, high] = [luminance(one), luminance(other)].sort((x, y) => x - y) as [number, number];
	return (high + 0.05) / (low + 0.05);
}

/**
 * Returns the color closest to `color` that has the contrast `ratio` against `background`. Keeps the hue, and changes
 * the lightness toward black or white only as much as needed.
 */
export function withContrast(color: Color, background: Color, ratio: number): Color {
	const opaque = over(color, background);
	if (contrast(opaque, background) >= ratio) return opaque;
	const target = luminance(background) < 0.18 ? 255 : 0;
	const towards = (share: number): Color => ({
		r: opaque.r + (target - opaque.r) * share,
		g: opaque.g + (target - opaque.g) * share,
		b: opaque.b + (target - opaque.b) * share,
		a: 1,
	});
	let low = 0;
	let high = 1;
	for (let i = 0; i < 20; i++) {
		const middle = (low + high) / 2;
		if (contrast(towards(middle), background) >= ratio) high = middle;
		else low = middle;
	}
	// Ensure that rounding to bytes does not reduce the contrast below the ratio.
	return towards(Math.min(1, high + 0.01));
}
