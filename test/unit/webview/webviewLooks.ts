import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pictures } from '../../scripts/paths.ts';
import { type ThemeName, themes } from './vscodeThemes.ts';
import { complete, type Rules, type Webview } from './webviewPage.ts';

/** Views that were checked in every theme. */
const checked = new WeakSet<Webview>();

/** Themes of later checks of a view. */
const briefThemes: readonly ThemeName[] = ['light'];
const allThemes = Object.keys(themes) as ThemeName[];

/**
 * Asserts that the page is accessible and does not scroll horizontally in any theme or at any of these widths. Checks
 * all rules in the current theme at the current width, names at the smallest of `widths`, and colors in the other themes.
 * Restores theme and width before it resolves.
 *
 * Further checks of the same view omit the high contrast themes and the rules at the smallest width. If TEST_LOOKS is
 * `all`, as in `npm run acceptance -- pageLooks`, axe checks everything in each theme and at the smallest width.
 */
export async function looksRight(view: Webview, name: string, widths: readonly number[] = []): Promise<void> {
	const { page, theme } = view;
	const thorough = !checked.has(view) || complete || pictures !== undefined;
	checked.add(view);
	await check(view, name, 'all');
	const themesToCheck = thorough ? allThemes : briefThemes;
	await eachOtherTheme(
		view,
		async (other) => {
			assert.deepEqual(await view.violations('colors'), [], `${name}, ${other}`);
			await picture(view, `${name}-${other}`);
		},
		themesToCheck,
	);
	const size = page.viewportSize();
	if (size === null || widths.length === 0) return;
	for (const width of widths) {
		await page.setViewportSize({ width, height: size.height });
		await frames(view);
		const words = `${name}, ${width} px`;
		if (thorough && width === Math.min(...widths)) assert.deepEqual(await view.violations('names'), [], words);
		await fitsWidth(view, words);
		await picture(view, `${name}-${theme}-${width}`);
	}
	await page.setViewportSize(size);
	await frames(view);
}

/**
 * Like `looksRight`, but only in the current theme at the current width: checks colors, names and the width, and all
 * rules if TEST_LOOKS is `all`. The first axe check in a page takes three times as much CPU time as opening the page.
 */
export const looksRightNow = (view: Webview, name: string): Promise<void> => check(view, name, 'names');

async function check(view: Webview, name: string, rules: Rules): Promise<void> {
	assert.deepEqual(await view.violations(rules), [], name);
	await fitsWidth(view, name);
	await picture(view, `${name}-${view.theme}`);
}

/** Runs an action in each of these themes except the current one, then restores the current one. */
export async function eachOtherTheme(
	view: Webview,
	act: (theme: ThemeName) => Promise<void>,
	among: readonly ThemeName[] = allThemes,
): Promise<void> {
	for (const theme of among) {
		if (theme === view.theme) continue;
		await view.setTheme(theme);
		await act(theme);
	}
	await view.setTheme(view.theme);
}

export async function fitsWidth({ page }: Webview, name: string): Promise<void> {
	const [needed, there, beyond] = await page.evaluate(() => {
		const { scrollWidth } = document.documentElement;
		const beyond = scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')];
		return [
			scrollWidth,
			innerWidth,
			beyond
				.filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
				.slice(0, 12)
				.map((node) => `${node.tagName.toLowerCase()}.${node.getAttribute('class')}`),
		] as const;
	});
	assert.ok(needed <= there, `${name}: the page scrolls sideways: ${needed} of ${there} px: ${beyond.join(', ')}`);
}

/** Waits until the layout has adapted to the window size. */
async function frames({ page }: Webview): Promise<void> {
	await page.evaluate(async () => {
		for (let i = 0; i < 2; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
	});
}

async function picture({ page }: Webview, name: string): Promise<void> {
	if (pictures === undefined) return;
	await mkdir(pictures, { recursive: true });
	await page.screenshot({ path: join(pictures, `${name}.png`) });
}
