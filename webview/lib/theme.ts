import { type IDisposable, toDisposable } from '../../src/base/disposable.ts';
import { Emitter, type Event } from '../../src/base/event.ts';
import { type Color, contrast, formatColor, luminance, over, parseColor, withAlpha, withContrast } from './color.ts';

export type ThemeKind = 'dark' | 'light' | 'high-contrast-dark' | 'high-contrast-light';

/** Theme values for drawing on a canvas; style sheets use CSS variables. */
export interface Theme {
	readonly kind: ThemeKind;
	readonly highContrast: boolean;
	readonly background: string;
	readonly foreground: string;
	/** Color of axis labels and other secondary text, with a contrast of at least 4.5:1. */
	readonly secondary: string;
	readonly grid: string;
	readonly cursor: string;
	readonly error: string;
	readonly warning: string;
	readonly selection: string;
	readonly fontFamily: string;
	/** Font size in CSS pixels. */
	readonly fontSize: number;
	/** Line colors with a contrast of at least 3:1 against the background (4.5:1 in high contrast). */
	readonly series: readonly string[];
	/** Returns the translucent series color for filled areas. */
	fill(index: number, alpha: number): string;
	/**
	 * Returns the opaque series color for areas that cover what is behind them, mixed with the background; `share` is the
	 * color's fraction.
	 */
	solid(index: number, share: number): string;
	/** Returns a line's dash pattern by its index in the chart; empty unless in high contrast. */
	dash(index: number): readonly number[];
}

/** Theme colors for series in order, and the fallbacks for themes that lack them (dark, light). */
const seriesSources = [
	['--vscode-charts-blue', '#4aa5f0', '#1a6fc4'],
	['--vscode-charts-orange', '#e5944a', '#b8560f'],
	['--vscode-charts-green', '#7fbf6a', '#2f7d32'],
	['--vscode-charts-purple', '#b691e6', '#652d90'],
	['--vscode-charts-red', '#f2777a', '#c4242b'],
	['--vscode-charts-yellow', '#d8b94a', '#8a6a00'],
	['--reasoning-lab-teal', '#4fc1b5', '#0f766e'],
	['--reasoning-lab-pink', '#e58ac0', '#a3246f'],
] as const;

const dashes: readonly (readonly number[])[] = [
	[],
	[8, 4],
	[2, 3],
	[10, 3, 2, 3],
	[4, 4],
	[12, 4],
	[1, 4],
	[6, 2, 2, 2],
];

/** Reads a CSS variable; tests read from a table instead of a document. */
export type ReadVariable = (name: string) => string;

/**
 * Returns the distance between two opaque colors in RGB, from 0 to 442, as a rough measure of whether lines can be
 * distinguished.
 */
function distance(one: Color, other: Color): number {
	return Math.hypot(one.r - other.r, one.g - other.g, one.b - other.b);
}

/** Builds the theme from VS Code's CSS variables. Pure apart from `read`. */
export function buildTheme(kind: ThemeKind, read: ReadVariable): Theme {
	const dark = kind === 'dark' || kind === 'high-contrast-dark';
	const highContrast = kind.startsWith('high-contrast');
	const fallbackBackground: Color = dark ? { r: 30, g: 30, b: 30, a: 1 } : { r: 255, g: 255, b: 255, a: 1 };
	const color = (name: string, fallback: string): Color =>
		parseColor(read(name)) ?? parseColor(fallback) ?? fallbackBackground;
	const background = over(color('--vscode-editor-background', dark ? '#1e1e1e' : '#ffffff'), fallbackBackground);
	const foreground = withContrast(color('--vscode-foreground', dark ? '#cccccc' : '#3b3b3b'), background, 4.5);
	const secondary = withContrast(
		color('--vscode-descriptionForeground', dark ? '#9d9d9d' : '#717171'),
		background,
		4.5,
	);
	const min = highContrast ? 4.5 : 3;
	const series: Color[] = [];
	for (const [name, forDark, forLight] of seriesSources) {
		const ours = dark ? forDark : forLight;
		// In a theme without its own orange, this is the translucent color of search matches, which would look brown.
		const theirs = withContrast(withAlpha(color(name, ours), 1), background, min);
		// Some themes use the same color for two of these names.
		const taken = series.some((other) => distance(other, theirs) < 60);
		series.push(taken ? withContrast(parseColor(ours) ?? theirs, background, min) : theirs);
	}
	const line = over(withAlpha(foreground, highContrast ? 0.35 : 0.1), background);
	return {
		kind,
		highContrast,
		background: formatColor(background),
		foreground: formatColor(foreground),
		secondary: formatColor(secondary),
		grid: formatColor(line),
		cursor: formatColor(withContrast(color('--vscode-focusBorder', dark ? '#0078d4' : '#005fb8'), background, 3)),
		error: formatColor(withContrast(color('--vscode-errorForeground', dark ? '#f85149' : '#c72e2e'), background, 4.5)),
		warning: formatColor(
			withContrast(color('--vscode-editorWarning-foreground', dark ? '#cca700' : '#8a6300'), background, 4.5),
		),
		selection: formatColor(withAlpha(foreground, 0.12)),
		fontFamily: read('--vscode-font-family').trim() || 'system-ui, sans-serif',
		fontSize: Number.parseFloat(read('--vscode-font-size')) || 13,
		series: series.map(formatColor),
		fill: (index, alpha) => formatColor(withAlpha(series[index % series.length] as Color, alpha)),
		solid: (index, share) => formatColor(over(withAlpha(series[index % series.length] as Color, share), background)),
		dash: (index) => (highContrast && index > 0 ? (dashes[index % dashes.length] ?? []) : []),
	};
}

/**
 * Reads the theme kind from the attribute that VS Code sets on the body, or infers it from the background if there is none.
 */
export function readThemeKind(body: HTMLElement, read: ReadVariable): ThemeKind {
	switch (body.dataset.vscodeThemeKind) {
		case 'vscode-light':
			return 'light';
		case 'vscode-dark':
			return 'dark';
		case 'vscode-high-contrast':
			return 'high-contrast-dark';
		case 'vscode-high-contrast-light':
			return 'high-contrast-light';
		default: {
			const background = parseColor(read('--vscode-editor-background'));
			return background && luminance(background) > 0.5 ? 'light' : 'dark';
		}
	}
}

/** Theme of the document, updated when it changes. */
export class ThemeWatcher implements IDisposable {
	#theme: Theme;
	readonly #changed = new Emitter<Theme>();
	readonly #stop: IDisposable;

	constructor() {
		this.#theme = ThemeWatcher.#read();
		const observer = new MutationObserver(() => {
			this.#theme = ThemeWatcher.#read();
			this.#changed.fire(this.#theme);
		});
		// VS Code changes the variables in the style attribute of html, and other attributes of body.
		observer.observe(document.documentElement, { attributes: true, attributeFilter: ['style', 'class'] });
		observer.observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-kind'] });
		this.#stop = toDisposable(() => observer.disconnect());
	}

	get theme(): Theme {
		return this.#theme;
	}

	readonly onChange: Event<Theme> = (listener) => this.#changed.event(listener);

	dispose(): void {
		this.#stop.dispose();
		this.#changed.dispose();
	}

	static #read(): Theme {
		const style = getComputedStyle(document.documentElement);
		const read: ReadVariable = (name) => style.getPropertyValue(name);
		return buildTheme(readThemeKind(document.body, read), read);
	}
}

/** Returns the contrast between two colors given as strings; 0 if either cannot be parsed. Exported for tests. */
export function contrastOf(one: string, other: string): number {
	const [a, b] = [parseColor(one), parseColor(other)];
	return a && b ? contrast(a, b) : 0;
}
