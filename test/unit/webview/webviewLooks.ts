import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pictures } from '../../scripts/paths.ts';
import { type ThemeName, themes } from './vscodeThemes.ts';
import type { Webview } from './webviewPage.ts';

/**
 * Asserts that the page is accessible and does not scroll horizontally in any theme or at any of these widths. Checks
 * all rules in the current theme, at the current width and at the smallest of `widths`, and only color rules in the
 * other themes. Restores theme and width before it resolves.
 */
export async function looksRight(view: Webview, name: string, widths: readonly number[] = []): Promise<void> {
	const { page, theme } = view;
	await looksRightNow(view, name);
	await eachOtherTheme(view, async (other) => {
		assert.deepEqual(await view.violations('colors'), [], `${name}, ${other}`);
		await picture(view, `${name}-${other}`);
	});
	const size = page.viewportSize();
	if (size === null || widths.length === 0) return;
	for (const width of widths) {
		await page.setViewportSize({ width, height: size.height });
		await frames(view);
		const words = `${name}, ${width} px`;
		if (width === Math.min(...widths)) assert.deepEqual(await view.violations(), [], words);
		await fitsWidth(view, words);
		await picture(view, `${name}-${theme}-${width}`);
	}
	await page.setViewportSize(size);
	await frames(view);
}

/** Runs the same checks only in the current theme at the current width. */
export async function looksRightNow(view: Webview, name: string): Promise<void> {
	assert.deepEqual(await view.violations(), [], name);
	await fitsWidth(view, name);
	await picture(view, `${name}-${view.theme}`);
}

/** Runs an action in each theme except the current one, then restores the current one. */
export async function eachOtherTheme(view: Webview, act: (theme: ThemeName) => Promise<void>): Promise<void> {
	for (const theme of Object.keys(themes) as ThemeName[]) {
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
