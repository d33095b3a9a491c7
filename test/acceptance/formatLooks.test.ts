/**
 * `npm run acceptance -- formatLooks`: takes a screenshot of the rollouts in every fixture from another trainer,
 * alternating between dark and light themes, with the timeline expanded. The screenshots are in
 * test/artifacts/formatLooks, or in the folder specified by TEST_PICTURES. `--only NAME` takes one.
 */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { openRun } from '../../src/runs/openRun.ts';
import { artifacts, pictures } from '../scripts/paths.ts';
import { launchChromium, skip } from '../support/chromium.ts';
import { fixtureFolder, fixtures } from '../unit/runs/importers/foreignFixtures.ts';
import { openRollouts } from '../unit/webview/rollouts/rolloutsHarness.ts';

const folder = pictures ?? join(artifacts, 'formatLooks');
const only = process.env.CHECK_ONLY;

let browser: Browser;
before(async () => {
	await mkdir(folder, { recursive: true });
	if (!skip) browser = await launchChromium();
});
after(() => browser?.close());

for (const [i, { name }] of fixtures.entries()) {
	if (only !== undefined && name !== only) continue;
	test(name, { skip }, async (context) => {
		const run = await openRun(fixtureFolder(name));
		if ((await run.steps()).length === 0) {
			context.skip('no rollouts');
			return;
		}
		const theme = i % 2 === 0 ? 'dark' : 'light';
		const view = await openRollouts(browser, fixtureFolder(name), { theme, width: 1280, height: 860 });
		context.after(() => view.close());
		const { page } = view;
		await page.waitForSelector('.group-view:not(.loading) .card .card-head');
		await page.waitForSelector('.card .card-body > *');
		const timeline = page.locator('.card-timeline > summary').first();
		if ((await timeline.count()) > 0) {
			await timeline.click();
			await page.waitForSelector('.activity');
		}
		await page.screenshot({ path: join(folder, `${name.replaceAll(' ', '-')}-${theme}.png`) });
		assert.deepEqual([view.errors, view.faults], [[], []], 'errors of the page');
		assert.deepEqual(await view.violations('names'), []);
	});
}
