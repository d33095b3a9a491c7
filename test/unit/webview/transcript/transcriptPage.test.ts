import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { longArchive } from '../../../support/longSample.ts';
import { reflexionFile } from '../../core/transcript/reflexion.ts';
import { soon } from '../lateness.ts';
import { fitsWidth, looksRight, looksRightNow } from '../webviewLooks.ts';
import { complete } from '../webviewPage.ts';
import { openTranscript, type TranscriptView } from './transcriptHarness.ts';

const options = { timeout: 180_000, skip };

let browser: Browser;
let folder = '';
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'transcript-'));
	if (!skip) browser = await launchChromium();
});
after(async () => {
	await browser?.close();
	await rm(folder, { recursive: true, force: true });
});

/** Opens the panel on a file and closes it after the test, which fails if the page had an error. */
async function open(
	t: TestContext,
	file: string,
	more: Parameters<typeof openTranscript>[2] = {},
): Promise<TranscriptView> {
	const view = await openTranscript(browser, { kind: 'file', file }, more);
	t.after(async () => {
		const { errors, faults } = view;
		await view.close();
		assert.deepEqual([errors, faults], [[], []], 'page errors');
	});
	return view;
}

async function written(name: string, text: string | Uint8Array): Promise<string> {
	const file = join(folder, name);
	await writeFile(file, text);
	return file;
}

const widths = [320, 760, 1900];

test('the transcript of a Reflexion agent is accessible in every theme and width', options, async (t) => {
	const view = await open(t, reflexionFile, { width: 1280, height: 900 });
	await view.page.waitForSelector('.message');
	await looksRight(view, 'transcript', widths);
	await view.page.locator('.finding-head').nth(3).click();
	await view.page.waitForSelector('.message.open .text-body');
	await looksRight(view, 'transcript-open', widths);
});

test('the findings in a transcript are listed and link to their messages', options, async (t) => {
	const { page } = await open(t, reflexionFile);
	await page.waitForSelector('.finding');
	const titles = await page.locator('.finding-title').allInnerTexts();
	for (const words of [
		/^ReviseAnswer failed$/,
		/^The retry of ReviseAnswer changed nothing$/,
		/^ReviseAnswer lacks reflection and search_queries$/,
		/do not support the claim$/,
		/^ReviseAnswer has no result$/,
	]) {
		assert.ok(
			titles.some((title) => words.test(title)),
			`${words} is not among ${titles.join('; ')}`,
		);
	}
	assert.match(await page.locator('.facts').innerText(), /8 messages · 4 calls · 18,735 tokens · 4 errors/);
	assert.match(await page.locator('.totals').innerText(), /16,475[\s\S]*2,260[\s\S]*18,735/);
	assert.equal(await page.locator('.growth-row').count(), 4);
	// Positioned elements that belong to the whole page are laid out again in every frame of the timeline.
	const hidden = page.locator('.side .visually-hidden');
	assert.ok((await hidden.count()) > 0);
	assert.deepEqual(
		await hidden.evaluateAll((nodes) => nodes.filter((node) => !(node as HTMLElement).offsetParent?.closest('.side'))),
		[],
	);
	await page.getByRole('button', { name: /ReviseAnswer lacks reflection/ }).click();
	await page.waitForFunction(() => document.activeElement?.closest('.message')?.classList.contains('open'));
	const card = page.locator('.message.selected');
	assert.match(
		await card.innerText(),
		/ReviseAnswer lacks reflection and search_queries[\s\S]*Calls ReviseAnswer[\s\S]*No result/,
	);
});

test('calls and results link to each other, by mouse and keyboard', options, async (t) => {
	const { page } = await open(t, reflexionFile);
	await page.locator('.message-head').nth(1).click();
	await page.getByRole('button', { name: 'Result in message 3' }).click();
	await page.waitForFunction(() => document.activeElement?.closest('[data-message="2"]')?.classList.contains('open'));
	await page.getByRole('button', { name: 'Call in message 2' }).focus();
	await page.keyboard.press('Enter');
	await page.waitForFunction(() => document.activeElement?.closest('[data-message="1"]') !== null);
	const at = () => page.evaluate(() => document.activeElement?.closest<HTMLElement>('.message')?.dataset.message);
	await page.keyboard.press('ArrowLeft');
	await page.waitForFunction(() => !document.querySelector('[data-message="1"]')?.classList.contains('open'));
	await page.keyboard.press('ArrowUp');
	assert.equal(await at(), '0');
	await page.keyboard.press('End');
	assert.equal(await at(), '7');
	await page.keyboard.press('o');
	await page.waitForSelector('[data-message="7"].open');
	await page.keyboard.press('n');
	await page.waitForSelector('.finding.current');
	assert.equal(await at(), '3', 'the first finding is about message 4');
});

test('the view state is restored after a reload', options, async (t) => {
	const first = await open(t, reflexionFile);
	await first.page.waitForSelector('.message');
	await first.page.locator('.message-head').nth(3).click();
	const state = await first.state();
	const second = await open(t, reflexionFile, { state });
	await second.page.waitForSelector('[data-message="3"].open .text-body');
});

test('a growing file is followed, and open items stay open', options, async (t) => {
	const line = (role: string, content: string) => `${JSON.stringify({ role, content })}\n`;
	const file = await written('growing.jsonl', line('user', 'One') + line('assistant', 'Two'));
	const { page, session } = await open(t, file);
	await page.locator('.message-head').first().click();
	await page.waitForSelector('[data-message="0"].open');
	await appendFile(file, `${line('user', 'Three')}{"role":"assi`);
	await session.refresh();
	await page.waitForSelector('[data-message="2"]');
	assert.ok(await page.locator('[data-message="0"].open').isVisible());
	assert.match(await page.locator('.faults').innerText(), /Line 4.*incomplete/);
	await appendFile(file, 'stant","content":"Four"}\n');
	await session.refresh();
	await page.waitForSelector('[data-message="3"]');
	assert.equal(await page.locator('.faults').innerText(), '');
	await rm(file);
	await session.refresh();
	await page.waitForSelector('.notice');
	assert.equal(await page.locator('.message').count(), 4, 'earlier messages stay');
});

test('a long log is loaded by lines, and messages are numbered once all have been checked', options, async (t) => {
	const line = (value: unknown) => `${JSON.stringify(value)}\n`;
	const call = { id: 'x', type: 'function', function: { name: 'search', arguments: '{"query":"tea"}' } };
	const two = ['p', 'q'].map((id) => ({ type: 'tool_result', tool_use_id: id, content: `Result ${id}` }));
	const words = 'Some words about tea. '.repeat(3);
	let text = '';
	for (let i = 0; i < 11_000; i++) text += line({ role: 'user', content: `${i} ${words}` });
	// Line 11001 contains no message, and line 11002 two, so later messages have the numbers of their lines.
	text += `{"note":1}\n${line({ role: 'user', content: two })}`;
	text += line({ role: 'assistant', content: null, tool_calls: [call] });
	for (let i = 0; i < 10_000; i++) text += line({ role: 'user', content: `${i} ${words}` });
	text += line({ role: 'tool', tool_call_id: 'x', content: 'Error: no tea', status: 'error' });
	const file = await written('long.jsonl', text);
	const { page, session, commands } = await open(t, file);
	await page.waitForFunction(() =>
		/21,004 messages · 1 call/.test(document.querySelector('.facts')?.textContent ?? ''),
	);
	assert.match(await page.locator('.faults').innerText(), /Line 11001, column 1: Not a message/);
	await page.locator('.message-head').first().focus();
	await page.keyboard.press('End');
	await page.waitForSelector('[data-message="21003"] .summary');
	await page.keyboard.press('o');
	await page.getByRole('button', { name: 'Call in message 11003' }).click();
	await page.waitForFunction(() => document.activeElement?.closest('[data-message="11002"]') !== null);
	assert.match(await page.locator('[data-message="11001"] .summary').innerText(), /Result q/);
	await page.getByRole('button', { name: 'Show message 11003 in the file' }).click();
	await soon(() => assert.deepEqual(commands.at(-1), { type: 'openSource', line: 11_003, column: 1 }));
	// Appended lines are shown without another inspection, and open messages stay open.
	await appendFile(file, line({ role: 'assistant', content: 'A late answer' }));
	await session.refresh();
	await page.waitForFunction(() => /21,005 messages/.test(document.querySelector('.facts')?.textContent ?? ''));
	assert.ok(await page.locator('[data-message="11002"].open').isVisible());
	await page.locator('[data-message="11002"] .message-head').focus();
	await page.keyboard.press('End');
	assert.match(await page.locator('[data-message="21004"] .summary').innerText(), /A late answer/);
});

test('a long sample of an Inspect log is loaded by lines, and the sample shown is restored', options, async (t) => {
	const file = await written('long.eval', longArchive(14_000));
	const state = { place: { kind: 'file', file }, conversation: 1, open: [1], selected: 1 };
	const { page, commands } = await open(t, file, { state });
	await page.waitForFunction(() =>
		/Inspect log · 14,000 messages · 4,667 calls · 70,005 tokens/.test(
			document.querySelector('.facts')?.textContent ?? '',
		),
	);
	assert.deepEqual(commands, [{ type: 'chooseSample', index: 1 }]);
	assert.match(await page.locator('[data-message="1"].open').innerText(), /10 \+ 5/);
	assert.match(await page.locator('[data-message="2"] .summary').innerText(), /A long text/);
	assert.equal(await page.getByRole('button', { name: /in the file/ }).count(), 0);
	await page.locator('[data-message="1"] .message-head').focus();
	await page.keyboard.press('End');
	await page.waitForSelector('[data-message="13999"] .summary');
	await page.getByRole('button', { name: 'Sample long (2 of 5)' }).click();
	await soon(() => assert.deepEqual(commands.at(-1), { type: 'chooseSample', index: null }));
});

test('the user can switch between several conversations in a file', options, async (t) => {
	const rows = ['Ada', 'Bo'].map((name) =>
		JSON.stringify({ id: name, messages: [{ role: 'user', content: `I am ${name}` }] }),
	);
	const { page } = await open(t, await written('several.jsonl', rows.join('\n')));
	await page.waitForSelector('.message');
	await page.getByRole('combobox', { name: 'Conversation' }).click();
	await page.getByRole('option', { name: /Bo/ }).click();
	await page.waitForFunction(() => document.querySelector('.summary')?.textContent === 'I am Bo');
});

test('a file without a transcript is reported with a suggested action', options, async (t) => {
	for (const [name, content, words] of [
		['empty.json', '', /does not contain a list of messages.*Open a chat log/s],
		['words.txt', 'Nothing to see.', /does not contain a list of messages/],
		['binary.txt', new Uint8Array([0, 1, 2, 255, 254, 0]), /binary\.txt is not text/],
		['deep.json', '['.repeat(500_000), /does not contain a list of messages/],
	] as const) {
		const view = await open(t, await written(name, content));
		await view.page.waitForSelector('.empty');
		assert.match(await view.page.locator('.empty').innerText(), words);
		if (name === 'words.txt') {
			await looksRightNow(view, 'transcript-none');
			await view.page.getByRole('button', { name: 'Open Another' }).last().click();
			await soon(() => assert.deepEqual(view.commands, [{ type: 'openOther' }]));
		}
		await view.close();
	}
	const gone = await open(t, join(folder, 'gone.json'));
	await gone.page.waitForSelector('.empty');
	assert.match(await gone.page.locator('.empty').innerText(), /no such file/);
});

// `npm test` covers this in `hostilePages.test.ts`; this test runs only in `npm run acceptance -- pageLooks`.
if (complete)
	test('hostile text is shown as plain text', options, async (t) => {
		const evil = [
			'<script>document.title = "pwned"</script><img src=x onerror="document.title=\'pwned\'">',
			'[click](command:workbench.action.reloadWindow) javascript:alert(1) https://example.org/x',
			'\u001b[31mred\u001b[0m \u202egnp.exe\u2066 \u0000 a\u200bb',
			'A'.repeat(200_000),
			'e\u0301'.repeat(20_000),
		];
		const messages = evil.flatMap((content, i) => [
			{ role: i % 2 === 0 ? 'user' : '<b>role</b>', content, name: evil[0] },
			{
				role: 'assistant',
				content: null,
				tool_calls: [
					{
						id: content.slice(0, 3000),
						function: { name: content.slice(0, 3000), arguments: JSON.stringify({ [content.slice(0, 500)]: content }) },
					},
				],
			},
		]);
		const view = await open(t, await written('evil.json', JSON.stringify(messages)));
		const { page } = view;
		await page.waitForSelector('.message');
		await page.getByRole('button', { name: 'Expand All' }).click();
		await page.waitForSelector('.message.open .text-body');
		for (let i = 0; i < messages.length; i++) {
			await page.evaluate((to) => document.querySelector('.timeline')?.scrollTo({ top: to * 700 }), i);
			await page.waitForTimeout(30);
		}
		assert.equal(await page.locator('script:not([nonce]), img, a[href]').count(), 0);
		assert.notEqual(await page.title(), 'pwned');
		await fitsWidth(view, 'hostile texts');
	});

test('twenty thousand messages are rendered as they scroll into view', options, async (t) => {
	const messages = Array.from({ length: 20_000 }, (_, i) => ({
		role: i % 2 === 0 ? 'user' : 'assistant',
		content: `Message ${i}`,
	}));
	const { page } = await open(t, await written('many.json', JSON.stringify(messages)));
	await page.waitForSelector('.message');
	assert.ok((await page.locator('.message').count()) < 100);
	await page.locator('.message-head').first().focus();
	await page.keyboard.press('End');
	await page.waitForSelector('[data-message="19999"]');
});

test('references are shown with the claims that cite them and the tool results behind them', options, async (t) => {
	const view = await open(t, reflexionFile, { height: 1400 });
	const { page } = view;
	await page.waitForSelector('.claim');
	const claim = page.locator('.claim', { hasText: 'eliminating the need for explicit reward modeling' });
	assert.match(
		await claim.innerText(),
		/\[4\]\[5\]\[6\][\s\S]*Supported elsewhere[\s\S]*analyticsvidhya[\s\S]*not cited/,
	);
	assert.equal(await page.locator('.source').count(), 6);
	await page.locator('.source summary').first().click();
	await page.waitForSelector('.evidence-text .m-found');
	await page.locator('.references').scrollIntoViewIfNeeded();
	await page.locator('.source').first().scrollIntoViewIfNeeded();
	await looksRightNow(view, 'transcript-references');
	await page.getByRole('combobox', { name: 'Answer' }).click();
	await page.getByRole('option', { name: 'Message 4' }).click();
	await page.waitForFunction(() => /\[5\]/.test(document.querySelector('.claims')?.textContent ?? ''));
	await page.locator('.source .link').first().click();
	await page.waitForSelector('[data-message="2"].open');
});
