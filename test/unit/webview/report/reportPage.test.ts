import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { type ReportCitation, type ReportEvent, reportEventSchema } from '../../../../src/protocol/reportMessages.ts';
import { fromWebviewSchema } from '../../../../src/protocol/webviewMessages.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { looksRight } from '../webviewLooks.ts';
import { openWebview } from '../webviewPage.ts';

const hostile = '<img src=x onerror=alert(1)>';
const reward = 'rl://sums/metric/reward?step=40';
const curve = 'rl://sums/metric/reward';
const text = `# Why ${hostile} fell

Reward fell to [0.62](${reward}), not to [0.71](${reward}), and [nothing](rl://gone/step/3) explains it.

![Reward](${curve})

![Missing](rl://sums/metric/none)

- [outside](https://example.com/) and [script](javascript:alert(1))
- \`${curve}\`

| step | reward |
|---|---|
| 40 | 0.62 |
`;

const citation = (address: string, line: number, changes: Partial<ReportCitation>): ReportCitation => ({
	...{ address, line, status: 'ok', wrong: [], data: [{ name: 'reward', value: 0.6214 }], problem: null },
	...changes,
});

test('a report shows its charts, and its citations with the results of their checks', {
	skip,
	timeout: 120_000,
}, async (t) => {
	const browser = await launchChromium();
	const events: unknown[] = [];
	const view = await openWebview(browser, {
		...{ app: 'report', width: 900, height: 800 },
		onMessage: (message) => {
			const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the webview');
			if (decoded.kind === 'event') {
				events.push(decoded.event);
				return;
			}
			const { id, params } = decoded;
			const found = (params as { address: string }).address === curve;
			const points = [
				[1, 0.2],
				[20, null],
				[40, 0.6214],
			];
			const error = { reason: 'missing', message: 'sums has no metric "none".' };
			void view.post(
				found ? { kind: 'response', id, ok: true, result: { points } } : { kind: 'response', id, ok: false, error },
			);
		},
	});
	t.after(async () => {
		await view.close();
		await browser.close();
	});
	const { page } = view;
	const send = (event: ReportEvent) =>
		view.post({ kind: 'event', event: decodeOrThrow(reportEventSchema, event, 'An event') });
	await send({ type: 'report', path: '/w/runs/sums/annotations/reports/fall.md', name: 'fall.md', text });
	await page.getByText('Checking citations').waitFor();
	await page.getByRole('heading', { name: `Why ${hostile} fell` }).waitFor();
	await send({
		type: 'checked',
		citations: [
			citation(reward, 3, {}),
			citation(reward, 3, { status: 'different', wrong: ['0.71'] }),
			citation('rl://gone/step/3', 3, { status: 'unresolved', data: [], problem: `No run "${hostile}".` }),
			citation(curve, 5, { status: 'no-number' }),
			citation(curve, 11, { status: 'no-number' }),
		],
	});
	await page.getByText('5 citations, 2 with problems').waitFor();
	assert.deepEqual(await page.locator('.problems li').allInnerTexts(), [
		'Line 3: 0.71 does not match the data: reward 0.6214',
		`Line 3: No run "${hostile}".`,
	]);
	const marked = (await page.locator('.citation.wrong').allInnerTexts()).map((words) => words.replaceAll('\n', ''));
	assert.deepEqual(marked, ['0.71: 0.71 does not match the data: reward 0.6214', `nothing: No run "${hostile}".`]);
	await page.getByRole('img', { name: 'Reward: 0.2 at step 1, 0.6214 at step 40' }).waitFor();
	await page.getByText('sums has no metric "none".').waitFor();
	assert.equal(await page.locator('a').count(), 0, 'no link leads out of the page');
	await looksRight(view, 'report', [320]);
	await page.locator('.problems button').nth(1).click();
	assert.equal(await page.evaluate(() => document.activeElement?.textContent?.startsWith('nothing')), true);
	await page.keyboard.press('Enter');
	await page.getByRole('button', { name: 'Open Markdown' }).click();
	while (events.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
	assert.deepEqual(events.slice(1), [{ type: 'open', address: 'rl://gone/step/3' }, { type: 'source' }]);

	await send({ type: 'report', path: '/w/r.md', name: 'r.md', text: 'Nothing cited.' });
	await send({ type: 'unchecked', message: 'Runs can be read only in a trusted workspace with a folder.' });
	await page.getByText('Not checked: Runs can be read only').waitFor();
	await send({ type: 'missing', path: '/w/r.md', message: 'Cannot read r.md: it was deleted.' });
	await page.getByRole('alert').filter({ hasText: 'it was deleted' }).waitFor();
	assert.deepEqual(await view.state(), { path: '/w/r.md' });
	assert.deepEqual(view.errors, []);
});
