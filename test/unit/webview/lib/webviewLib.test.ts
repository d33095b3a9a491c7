import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { nextFocus } from '../../../../webview/lib/a11y.ts';
import { contrast, parseColor, withContrast } from '../../../../webview/lib/color.ts';
import { buildTheme, contrastOf } from '../../../../webview/lib/theme.ts';
import { placeTooltip } from '../../../../webview/lib/tooltip.ts';
import {
	FixedHeights,
	type RowHeights,
	scrollToRow,
	VariableHeights,
	visibleRows,
} from '../../../../webview/lib/virtualList.ts';
import { themes } from '../vscodeThemes.ts';

describe('colors', () => {
	it('are parsed in the formats that VS Code writes', () => {
		assert.deepEqual(parseColor('#0af'), { r: 0, g: 170, b: 255, a: 1 });
		assert.deepEqual(parseColor(' #11223380 '), { r: 17, g: 34, b: 51, a: 128 / 255 });
		assert.deepEqual(parseColor('rgba(1, 2, 3, 0.5)'), { r: 1, g: 2, b: 3, a: 0.5 });
		assert.deepEqual(parseColor('rgb(1 2 3 / 50%)'), { r: 1, g: 2, b: 3, a: 0.5 });
		for (const bad of ['', 'red', '#12', '#12345', 'rgb(1, 2)', 'rgb(a, b, c)', 'url(x)']) {
			assert.equal(parseColor(bad), null, bad);
		}
	});

	it('have known contrast ratios (WCAG 2.1)', () => {
		assert.equal(contrastOf('#000000', '#ffffff'), 21);
		assert.equal(contrastOf('#777777', '#ffffff').toFixed(2), '4.48');
		assert.equal(contrastOf('nonsense', '#ffffff'), 0);
	});

	it('reach the required contrast on any background', () => {
		const random = Random.of(1, 'colours');
		const any = () => ({ r: random.int(256), g: random.int(256), b: random.int(256), a: 1 });
		for (let i = 0; i < 500; i++) {
			const background = any();
			const ratio = 1 + 3.5 * random.next();
			assert.ok(contrast(withContrast(any(), background, ratio), background) >= ratio - 1e-9);
		}
	});

	for (const [name, { kind, variables }] of Object.entries(themes)) {
		it(`for series are distinct from the background and from each other: ${name}`, () => {
			const kinds = {
				'vscode-dark': 'dark',
				'vscode-light': 'light',
				'vscode-high-contrast': 'high-contrast-dark',
				'vscode-high-contrast-light': 'high-contrast-light',
			} as const;
			const theme = buildTheme(kinds[kind], (variable) => {
				return (variables as Record<string, string>)[variable.replace('--vscode-', '')] ?? '';
			});
			for (const text of [theme.foreground, theme.secondary]) assert.ok(contrastOf(text, theme.background) >= 4.5);
			const min = theme.highContrast ? 4.5 : 3;
			for (const color of theme.series) assert.ok(contrastOf(color, theme.background) >= min, color);
			assert.equal(new Set(theme.series.slice(0, 6)).size, 6);
			assert.equal(theme.dash(2).length > 0, theme.highContrast);
			assert.deepEqual(theme.dash(0), []);
		});
	}

	it('have defaults if a theme does not define them', () => {
		const theme = buildTheme('light', () => '');
		assert.equal(theme.background, 'rgba(255, 255, 255, 1)');
		assert.equal(theme.fontSize, 13);
		for (const color of theme.series) assert.ok(contrastOf(color, theme.background) >= 3);
	});
});

describe('virtual lists', () => {
	const check = (heights: RowHeights, sizes: readonly number[]): void => {
		let y = 0;
		for (const [i, size] of sizes.entries()) {
			assert.ok(Math.abs(heights.offset(i) - y) < 1e-6);
			assert.equal(heights.rowAt(y), i);
			if (size > 0.5) assert.equal(heights.rowAt(y + size - 0.25), i);
			y += size;
		}
		assert.ok(Math.abs(heights.total - y) < 1e-6);
		assert.equal(heights.rowAt(y + 1000), sizes.length - 1);
		assert.equal(heights.rowAt(-5), 0);
	};

	it('compute positions of fixed-height rows', () => {
		check(
			new FixedHeights(100, 22),
			Array.from({ length: 100 }, () => 22),
		);
		assert.equal(new FixedHeights(0, 22).rowAt(10), -1);
	});

	it('compute positions of measured rows', () => {
		for (let seed = 0; seed < 30; seed++) {
			const random = Random.of(seed, 'heights');
			const sizes = Array.from({ length: 1 + random.int(200) }, () => 20 + random.int(100));
			const heights = new VariableHeights(sizes.length, (i) => sizes[i] as number);
			check(heights, sizes);
			for (let change = 0; change < 50; change++) {
				const i = random.int(sizes.length);
				const size = 1 + random.int(300);
				assert.equal(heights.set(i, size), size - (sizes[i] as number));
				sizes[i] = size;
			}
			check(heights, sizes);
		}
		assert.equal(new VariableHeights(0, () => 1).rowAt(0), -1);
	});

	it('render only the visible rows and a small margin', () => {
		const heights = new FixedHeights(1_000_000, 20);
		assert.deepEqual(visibleRows(heights, 2000, 100, 2), { first: 98, end: 107, top: 1960 });
		assert.deepEqual(visibleRows(heights, 0, 100, 2), { first: 0, end: 7, top: 0 });
		assert.equal(visibleRows(heights, 20_000_000, 100, 2).end, 1_000_000);
		assert.deepEqual(visibleRows(new FixedHeights(0, 20), 0, 100), { first: 0, end: 0, top: 0 });
	});

	it('scroll only as far as needed to show a row', () => {
		const heights = new FixedHeights(100, 20);
		assert.equal(scrollToRow(heights, 5, 0, 200), 0);
		assert.equal(scrollToRow(heights, 12, 0, 200), 60);
		assert.equal(scrollToRow(heights, 3, 100, 200), 60);
		assert.equal(scrollToRow(new FixedHeights(10, 500), 3, 0, 200), 1500);
	});
});

describe('focus and tooltips', () => {
	it('move by arrow keys within the items', () => {
		assert.deepEqual(
			['ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowUp', 'Home', 'End', 'x'].map((key) => nextFocus(key, 4, 9, 3)),
			[5, 3, 7, 1, 0, 8, null],
		);
		assert.equal(nextFocus('ArrowRight', 8, 9), 8);
		assert.equal(nextFocus('End', 0, 0), null);
	});

	it('stay inside the window', () => {
		const view = { width: 320, height: 400 };
		const size = { width: 300, height: 100 };
		assert.deepEqual(placeTooltip({ left: 200, right: 220, top: 10, bottom: 30 }, size, view), { left: 14, top: 36 });
		assert.deepEqual(placeTooltip({ left: 0, right: 20, top: 350, bottom: 370 }, size, view), { left: 6, top: 244 });
		const tall = placeTooltip({ left: 0, right: 20, top: 50, bottom: 370 }, size, view);
		assert.deepEqual(tall, { left: 6, top: 294 });
	});
});
