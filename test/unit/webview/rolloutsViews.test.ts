import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchChromium, skip } from '../../support/chromium.ts';
import { writeMicroscopeRun } from './microscopeFixture.ts';
import { openRollouts, type RolloutsView } from './rolloutsHarness.ts';
import type { ThemeName } from './vscodeThemes.ts';
import type { WebviewOptions } from './webviewPage.ts';

const options = { timeout: 240_000, skip };
const pictures = join(import.meta.dirname, '../../artifacts/webview');

let root = '';
let browser: Browser;
before(async () => {
	root = await mkdtemp(join(tmpdir(), 'rollouts-views-'));
	await mkdir(pictures, { recursive: true });
	if (!skip) browser = await launchChromium();
	await writeMicroscopeRun(join(root, 'bakery'));
});
after(async () => {
	await browser?.close();
	await rm(root, { recursive: true, force: true });
});

async function open(
	t: TestContext,
	more: Omit<WebviewOptions, 'app' | 'onMessage'> = {},
	policy?: Parameters<typeof openRollouts>[3],
	run = join(root, 'bakery'),
): Promise<RolloutsView> {
	const view = await openRollouts(browser, run, more, policy);
	t.after(async () => {
		const { errors, faults } = view;
		await view.close();
		assert.deepEqual([errors, faults], [[], []], 'errors of the page');
	});
	return view;
}

const themes: readonly ThemeName[] = ['dark', 'light', 'high-contrast', 'high-contrast-light'];
const sizes = [
	...themes.map((theme) => ({ theme, width: 1280, height: 860 })),
	{ theme: 'dark' as const, width: 340, height: 800 },
	{ theme: 'light' as const, width: 340, height: 800 },
];

const policy: Parameters<typeof openRollouts>[3] = async () => ({
	policy: async () => ({
		ready: true,
		message: 'The live engine, at step 12.',
		action: null,
		temperature: 1,
		maxTokens: 64,
	}),
	generate: async ({ prefix }, onText) => {
		onText(prefix.endsWith('\n') ? 'So 104 - 7' : ' So 104 - 7');
		onText(' = 97.\n</think>\n<answer>97</answer>');
		return { text: '', ended: true };
	},
});

/** Everything that the panel shows, one view after the other. */
test('every view is accessible in every theme and width', options, async (t) => {
	for (const size of sizes) {
		await t.test(`${size.theme}, ${size.width} px`, async (t) => {
			const view = await open(t, size, policy);
			const { page } = view;
			const look = async (name: string) => {
				assert.deepEqual(await view.violations(), [], name);
				const scroll = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
				assert.ok(scroll[0] <= scroll[1], `${name}: the page does not scroll sideways`);
				await page.screenshot({ path: join(pictures, `microscope-${name}-${size.theme}-${size.width}.png`) });
			};
			await page.waitForSelector('.card .chip');
			await look('group');
			await page.keyboard.press('b');
			for (const value of ['logprob', 'entropy', 'ratio', 'kl', 'advantage']) {
				await page.keyboard.press('t');
				await page.waitForSelector('.token');
				if (value === 'ratio' || value === 'advantage') await look(`tokens-${value}`);
			}
			await page.keyboard.press('t');
			await page.keyboard.press('G');
			await page.waitForSelector('.turn-head');
			await page.waitForSelector('.chip.warning');
			await look('remarkable');
			await page.keyboard.press('g');
			await page.waitForSelector('.card[data-index="5"] .chip');
			await page.keyboard.press('2');
			await page.waitForSelector('.m-parting');
			await look('compare');
			await page.keyboard.press('3');
			await page.waitForFunction(() => document.querySelector('.scan-bar')?.textContent?.includes('Read 12 steps'));
			await page.waitForSelector('.training-cards .block-text');
			await look('training');
			await page.keyboard.press('4');
			await page.waitForFunction(() => document.querySelector('.scan-bar')?.textContent?.includes('Read 12 steps'));
			await page.waitForSelector('.example');
			await page.waitForSelector('.uplot canvas');
			await look('behaviours');
			await page.keyboard.press('1');
			await page.waitForSelector('.card .block-text');
			await page.keyboard.press('s');
			await page.waitForSelector('.step-label');
			await page.keyboard.press('d');
			await page.waitForSelector('.rated-1');
			await page.keyboard.press('-');
			await page.waitForSelector('.rated--1');
			await look('label');
			await page.getByRole('button', { name: 'Back to the Group' }).click();
			await page.waitForSelector('.card .block-text');
			await page.keyboard.press('e');
			await page.waitForSelector('.beginning');
			await page.getByRole('button', { name: 'Continue from Here' }).click();
			await page.waitForFunction(() => document.querySelector('.continuations')?.textContent?.includes('<answer>97'));
			await look('continue');
		});
	}
});
