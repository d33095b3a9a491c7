import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { hostileTexts } from '../../../support/hostileTexts.ts';
import { agentEvents, mctsEvents, treeEvents } from '../../../support/treeEvents.ts';
import { patience, soon } from '../lateness.ts';
import { fitsWidth, looksRight, looksRightNow } from '../webviewLooks.ts';
import { complete } from '../webviewPage.ts';
import { openTree, someSource, type TreeView } from './treeHarness.ts';

const options = { timeout: patience(180_000), skip };
const grown = mctsEvents({ nodes: 120 });

let browser: Browser;
before(async () => {
	if (!skip) browser = await launchChromium();
});
after(async () => {
	await browser?.close();
});

/** Opens the page and closes it after the test, which fails if the page had an error. */
async function open(t: TestContext, more: Parameters<typeof openTree>[1] = {}): Promise<TreeView> {
	const view = await openTree(browser, more);
	t.after(async () => {
		const { errors, faults } = view;
		await view.close();
		assert.deepEqual([errors, faults], [[], []], 'page errors');
	});
	return view;
}

/** Returns the fraction of the canvas that is not empty. */
const inked = (page: Page, at = 0): Promise<number> =>
	page.evaluate((index) => {
		const canvas = document.querySelectorAll<HTMLCanvasElement>('.tree-canvas')[index];
		const context = canvas?.getContext('2d');
		if (!canvas || !context || canvas.width === 0) return 0;
		const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
		let count = 0;
		for (let i = 3; i < data.length; i += 4) if (data[i] !== 0) count++;
		return count / (data.length / 4);
	}, at);

/** Returns the fraction of the canvas that is drawn, once the canvas no longer changes. */
async function settledInk(page: Page): Promise<number> {
	for (let last = 0; ; ) {
		const now = await inked(page);
		if (now > 0 && now === last) return now;
		last = now;
		await page.waitForTimeout(patience(150));
	}
}

const drawn = (page: Page, at = 0) =>
	page.waitForFunction((index) => {
		const canvas = document.querySelectorAll<HTMLCanvasElement>('.tree-canvas')[index];
		const context = canvas?.getContext('2d');
		if (!canvas || !context || canvas.width === 0) return false;
		const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
		return data.some((value, i) => i % 4 === 3 && value !== 0);
	}, at);

/** Returns the screen reader text for the selected node. */
const spoken = (page: Page): Promise<string> =>
	page.evaluate(() => {
		const tree = document.querySelector('.tree-stage');
		const id = tree?.getAttribute('aria-activedescendant');
		return (id && document.getElementById(id)?.textContent) || '';
	});
const says = (page: Page, words: string) =>
	page.waitForFunction((sought) => {
		const id = document.querySelector('.tree-stage')?.getAttribute('aria-activedescendant');
		return id ? document.getElementById(id)?.textContent?.includes(sought) : false;
	}, words);

const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true }).click();
const choose = async (page: Page, label: string, option: string) => {
	await page.getByRole('combobox', { name: label, exact: true }).click();
	await page.getByRole('option', { name: option }).click();
};

const layoutOf = (page: Page): Promise<string> =>
	page.getByRole('combobox', { name: 'Layout', exact: true }).evaluate((node) => (node as HTMLSelectElement).value);

test('a tree and its details are accessible in every theme and width', options, async (t) => {
	const view = await open(t, { width: 1280, height: 860 });
	await view.show(grown);
	await drawn(view.page);
	await looksRight(view, 'tree', [340, 1900]);
	await view.page.locator('.tree-stage').focus();
	await view.page.keyboard.press('Home');
	await view.page.keyboard.press('ArrowRight');
	await tab(view.page, 'Node');
	await view.page.waitForSelector('.node-head h2');
	await looksRight(view, 'tree-node', [340, 1900]);
});

test('several trees are explored in one page', options, async (t) => {
	const view = await open(t);
	const { page, commands } = view;

	/** Shows another tree; resolves once nothing of the earlier one is left. */
	const show = async (events: Parameters<TreeView['show']>[0], source: Parameters<TreeView['show']>[1] = {}) => {
		const place = (words: string) =>
			page.waitForFunction((end) => document.querySelector('.time-place')?.textContent?.includes(end), words);
		await view.show([], source);
		await place('Event 0 of 0');
		await view.show(events, source);
		await place(` of ${events.length.toLocaleString('en-US')}`);
		commands.length = 0;
	};

	await t.test('an unreadable log is reported with a suggested action', async () => {
		await page.waitForSelector('.loading');
		await view.say({
			type: 'failed',
			side: 'main',
			message: 'search.jsonl is not there any more.',
			action: 'Choose another.',
		});
		await page.waitForSelector('.empty');
		assert.match(await page.locator('.empty').innerText(), /No tree to show[\s\S]*not there any more\. Choose another/);
		assert.deepEqual(await view.violations('names'), []);
		await page.getByRole('button', { name: 'Reload' }).click();
		await view.received(1);
		assert.deepEqual(view.commands, [{ type: 'again' }]);
		await view.show([]);
		await page.waitForFunction(
			() => document.querySelector('.stage-empty')?.textContent === 'The log contains no nodes.',
		);
		await view.say({ type: 'failed', side: 'main', message: 'The disk is gone.', action: null });
		await page.waitForSelector('.notice');
	});

	await t.test('the keyboard moves, expands and collapses, and the position is announced', async () => {
		await show(grown);
		await drawn(page);
		await page.locator('.tree-stage').focus();
		await page.keyboard.press('Home');
		await says(page, 'Problem 0: What is six times seven?');
		await page.keyboard.press('ArrowRight');
		await says(page, 'Thought 1:');
		await page.keyboard.press('ArrowDown');
		await says(page, 'Thought 2:');
		await page.keyboard.press('ArrowUp');
		await says(page, 'Thought 1:');
		const item = page.locator('[role=treeitem][aria-selected=true]');
		assert.deepEqual(
			[
				await item.getAttribute('aria-level'),
				await item.getAttribute('aria-setsize'),
				await item.getAttribute('aria-expanded'),
			],
			['2', '3', 'true'],
		);
		await page.keyboard.press('Enter');
		await says(page, 'below not shown');
		assert.equal(await item.getAttribute('aria-expanded'), 'false');
		await page.keyboard.press('ArrowRight');
		await page.waitForFunction(
			() => document.querySelector('.tree-stage [aria-selected=true]')?.getAttribute('aria-expanded') === 'true',
		);
		await page.keyboard.press('ArrowRight');
		await page.waitForFunction(
			() => document.querySelector('.tree-stage [aria-selected=true]')?.getAttribute('aria-level') === '3',
		);
		await page.keyboard.press('ArrowLeft');
		await says(page, 'Thought 1:');
		await page.keyboard.press('End');
		await says(page, 'on the best path');
		await page.keyboard.press('?');
		await page.waitForSelector('dialog[open]');
		assert.deepEqual(await view.violations('names'), []);
		await page.keyboard.press('Escape');
		await page.waitForSelector('dialog[open]', { state: 'detached' });
	});

	await t.test('text search finds nodes and steps through the hits', async () => {
		await show(mctsEvents({ nodes: 900 }));
		await drawn(page);
		await page.keyboard.press('/');
		await page.keyboard.type('the answer is 42');
		await page.waitForFunction(() => /^\d+ found$/.test(document.querySelector('.found-count')?.textContent ?? ''));
		await page.keyboard.press('Enter');
		await says(page, 'So the answer is 42.');
		const first = await spoken(page);
		await page.keyboard.press('Enter');
		await page.waitForFunction(() => document.querySelector('.found-count')?.textContent?.startsWith('2 of'));
		assert.notEqual(await spoken(page), first);
		await page.keyboard.press('Shift+Enter');
		await page.waitForFunction(() => document.querySelector('.found-count')?.textContent?.startsWith('1 of'));
		await page.keyboard.press('Escape');
		await page.waitForFunction(() => document.querySelector('.found-count')?.textContent === '');
	});

	await t.test('the slider goes back in time, and following can be resumed', async () => {
		await show(grown.slice(0, 300), { running: true });
		await page.waitForFunction(() => document.querySelector('.time-place')?.textContent?.includes('300 of 300'));
		const slider = page.getByRole('slider', { name: 'Replay position' });
		await slider.fill('38');
		await page.waitForFunction(() => document.querySelector('.time-place')?.textContent?.includes('38 of 300'));
		assert.match(await page.locator('.time-words').innerText(), /^(Backup|Selection|Expansion|Evaluation) /);
		await view.add(grown.slice(300, 400));
		await page.waitForFunction(() => document.querySelector('.time-place')?.textContent?.includes('38 of 400'));
		await page.getByRole('button', { name: 'Next event' }).click();
		await page.waitForFunction(() => document.querySelector('.time-place')?.textContent?.includes('39 of 400'));
		await page.getByRole('button', { name: 'Follow new events' }).click();
		await view.add(grown.slice(400));
		await page.waitForFunction(() => document.querySelector('.time-words')?.textContent?.startsWith('End'));
		await page.locator('.tree-stage').focus();
		for (const key of ['Home', 'ArrowRight']) await page.keyboard.press(key);
		await tab(page, 'Events');
		await page.locator('.events-list').focus();
		const whole = await settledInk(page);
		await page.keyboard.press('Home');
		await page.waitForFunction(() => /^Event \d of/.test(document.querySelector('.time-place')?.textContent ?? ''));
		// The text changes immediately, the picture in the next frames.
		await soon(async () => assert.ok((await inked(page)) < whole / 2, 'there is little to see at the beginning'));
		await page.keyboard.press('p');
		await page.waitForSelector('[aria-label="Pause"]');
		await page.keyboard.press('p');
		await page.waitForSelector('[aria-label="Play"]');
		await page.keyboard.press('l');
		await page.waitForFunction(() => document.querySelector('.time-words')?.textContent?.startsWith('End'));
		await page.waitForFunction(() => document.querySelector('[role=treeitem]') !== null);
		await soon(async () => assert.ok((await inked(page)) > whole / 2, 'there is more to see at the end'));
	});

	await t.test('node actions are sent to the panel, and unavailable ones show the reason', async () => {
		await show(grown);
		await drawn(page);
		await page.locator('.tree-stage').focus();
		for (const key of ['Home', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
		await tab(page, 'Node');
		await page.getByRole('button', { name: 'Branch from Here' }).click();
		await page.getByRole('button', { name: 'Prune' }).click();
		await page.getByRole('button', { name: 'Edit and Continue…' }).click();
		await page.getByRole('textbox', { name: /New step text/ }).fill('Better: 6 · 7 = 42.\n');
		await page.getByRole('button', { name: 'Continue from Edited Step' }).click();
		await page.getByRole('button', { name: 'Run More…' }).click();
		await view.received(4);
		const id = (commands[0] as { node: number }).node;
		assert.deepEqual(commands, [
			{ type: 'branch', node: id },
			{ type: 'prune', node: id, restore: false },
			{ type: 'edit', node: id, text: 'Better: 6 · 7 = 42.\n' },
			{ type: 'more' },
		]);
		await view.say({
			type: 'source',
			side: 'main',
			source: {
				title: 'x',
				path: '/x',
				foreign: 'openr',
				trees: ['a', 'b'],
				chosen: 0,
				faults: ['line 4 is no event'],
				running: false,
				canGoOn: 'Another program wrote the tree.',
				episodes: false,
			},
		});
		await page.waitForFunction(() => document.querySelector('.why')?.textContent?.includes('Another program'));
		await tab(page, 'Search');
		assert.match(await page.locator('.tab-panel').innerText(), /Errors[\s\S]*line 4 is no event/);
		await tab(page, 'Node');
		assert.match(await page.locator('.node-actions').innerText(), /Another program wrote the tree/);
		for (const name of ['Branch from Here', 'Edit and Continue…', 'Prune', 'Run More…']) {
			await soon(async () => assert.ok(await page.getByRole('button', { name }).isDisabled(), name));
		}
		// Turns of episodes can be branched from, but not edited.
		await view.say({ type: 'source', side: 'main', source: { ...someSource, trees: ['a', 'b'], episodes: true } });
		await page.waitForFunction(() =>
			document.querySelector('.node-actions')?.textContent?.includes('cannot be edited'),
		);
		assert.ok(await page.getByRole('button', { name: 'Edit and Continue…' }).isDisabled());
		assert.ok(await page.getByRole('button', { name: 'Branch from Here' }).isEnabled());
		commands.length = 0;
		await choose(page, 'Tree', 'b');
		await view.received(1);
		assert.deepEqual(commands, [{ type: 'choose', tree: 1 }]);
		await view.show(grown.slice(0, 200), { running: true });
		await page.getByRole('button', { name: 'Stop' }).click();
		await page.waitForFunction(() => document.querySelector('.state')?.textContent === 'running');
		await view.received(2);
		assert.deepEqual(commands.at(-1), { type: 'stop' });
	});

	await t.test('the view can be exported as an image, as data and as a flowchart', async () => {
		await show(grown);
		await drawn(page);
		for (const [i, name] of [/SVG/, /PNG/, /JSON/, /Mermaid/].entries()) {
			await page.getByRole('button', { name: 'Export' }).click();
			await page.getByRole('menuitem', { name }).click();
			await view.received(i + 1);
		}
		const content = commands.map((command) => (command.type === 'export' ? command.content : ''));
		assert.deepEqual(
			commands.map((command) => command.type === 'export' && command.format),
			['svg', 'png', 'json', 'mermaid'],
		);
		const shapes = await page.evaluate((text) => {
			const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
			return [parsed.querySelectorAll('parsererror, script').length, parsed.querySelectorAll('text').length];
		}, content[0] as string);
		assert.deepEqual(shapes, [0, 120]);
		assert.equal(
			Buffer.from(content[1] as string, 'base64')
				.subarray(1, 4)
				.toString(),
			'PNG',
		);
		assert.equal((JSON.parse(content[2] as string) as { nodes: unknown[] }).nodes.length, 120);
		assert.match(content[3] as string, /^flowchart LR\nn0\(\["What is six times seven#63;/);
		await page.getByRole('button', { name: 'Export' }).focus();
		await page.keyboard.press('Enter');
		await page.waitForSelector('.menu:popover-open');
		await page.keyboard.press('ArrowDown');
		await page.keyboard.press('Escape');
		await page.waitForSelector('.menu:popover-open', { state: 'detached' });
		assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Export');
	});

	await t.test('a growing search is drawn as it grows', async () => {
		const events = mctsEvents({ nodes: 2500, open: true });
		await view.show([], { running: true });
		await page.waitForFunction(() => document.querySelector('.stage-empty')?.textContent?.includes('has started'));
		await view.add(events.slice(0, 1000));
		// Redraws keep what is highlighted in an open list.
		await page.waitForFunction(() => /[1-9]\d* nodes/.test(document.querySelector('.facts')?.textContent ?? ''));
		await page.getByRole('combobox', { name: 'Layout', exact: true }).click();
		await page.getByRole('option', { name: 'Tidy, downward' }).waitFor();
		await page.keyboard.press('ArrowDown');
		for (let at = 1000; at < events.length; at += 1000) await view.add(events.slice(at, at + 1000));
		await page.waitForFunction(() => document.querySelector('.facts')?.textContent?.includes('2,499 nodes'));
		await drawn(page);
		await page.keyboard.press('Enter');
		assert.equal(await layoutOf(page), 'down');
		await choose(page, 'Layout', 'Tidy, rightward');
		await page.locator('.tree-stage').focus();
		await page.keyboard.press('Home');
		await says(page, '2,499 visits');
	});

	await t.test('every layout, filter, depth limit and coloring renders', async () => {
		await show(mctsEvents({ nodes: 900 }));
		await drawn(page);
		for (const [label, option] of [
			['Layout', 'Radial'],
			['Layout', 'Indented'],
			['Layout', 'Timeline'],
			['Timeline axis', 'By time'],
			['Layout', 'Layered graph'],
			['Layout', 'Tidy, downward'],
			['Color', 'Visits (N)'],
			['Color', 'Role'],
			['Nodes shown', 'Paths to answers'],
			['Expand', 'Depth 2'],
			['Expand', 'Expand all'],
		] as const) {
			await choose(page, label, option);
			await drawn(page);
		}
		assert.match(await page.locator('.legend').innerText(), /Problem[\s\S]*Answer[\s\S]*Best path/);
		const state = (await view.state()) as { options: { layout: string; coloring: string } };
		assert.deepEqual([state.options.layout, state.options.coloring], ['down', 'role']);
		await page.getByRole('button', { name: 'Zoom in' }).click();
		await page.getByRole('button', { name: 'Zoom in' }).click();
		await page.waitForFunction(() => document.querySelector<HTMLElement>('.minimap')?.hidden === false);
		await page.locator('.minimap-canvas').click({ position: { x: 30, y: 60 } });
		await page.getByRole('button', { name: 'Fit to view' }).click();
		await page.waitForFunction(() => document.querySelector<HTMLElement>('.minimap')?.hidden === true);
		const second = await open(t, { state });
		await second.show(mctsEvents({ nodes: 900 }));
		await drawn(second.page);
		assert.equal(await layoutOf(second.page), 'down');
	});
});

test('an agent graph shows tools, critique and references', options, async (t) => {
	const view = await open(t, { theme: 'light' });
	const { page } = view;
	await view.show(agentEvents());
	await drawn(page);
	assert.equal(await layoutOf(page), 'layered');
	await page.locator('.tree-stage').focus();
	await page.keyboard.press('End');
	await tab(page, 'Node');
	const panel = page.locator('.tab-panel');
	assert.match(await panel.innerText(), /supported\s*\[1\] papers\/dpo\.md[\s\S]*not supported\s*\[2\]/);
	await page.getByRole('button', { name: 'evidence: node 3' }).click();
	await says(page, 'Tool 3');
	assert.match(
		await panel.innerText(),
		/Tool: search[\s\S]*Arguments[\s\S]*closed form[\s\S]*Result[\s\S]*papers\/dpo\.md/,
	);
	await page.keyboard.press('g');
	await page.keyboard.press('ArrowDown');
	await says(page, 'Tool 4');
	assert.match(await panel.innerText(), /Error[\s\S]*nothing was found/);
	await page.keyboard.press('ArrowLeft');
	await says(page, 'Critique 2');
	assert.match(
		await panel.innerText(),
		/Missing[\s\S]*addressed\s*the closed form[\s\S]*open\s*a citation[\s\S]*Superfluous/,
	);
	await looksRightNow(view, 'tree-agent');
	await tab(page, 'Path');
	await page.getByRole('button', { name: 'Copy as Text' }).click();
	await view.received(1);
	assert.match(
		(view.commands.at(-1) as { text: string }).text,
		/^How does DPO avoid a reward model\?\n\nDPO optimises/,
	);
});

test('two trees are shown side by side, with their numbers and answers', options, async (t) => {
	const view = await open(t, { theme: 'high-contrast' });
	const { page } = view;
	await view.show(mctsEvents({ nodes: 900 }));
	await drawn(page);
	await page.getByRole('button', { name: 'Compare…' }).click();
	await view.received(1);
	assert.deepEqual(view.commands, [{ type: 'compare' }]);
	await view.show(mctsEvents({ nodes: 700, seed: 4 }), { title: 'Another', path: '/other.jsonl' }, 'other');
	await drawn(page, 1);
	// While events arrive, the numbers are updated only occasionally.
	await page.waitForFunction(() =>
		/Nodes\s*899\s*699[\s\S]*Answers in both trees[\s\S]*42\s*correct\s*in both/.test(
			(document.querySelector('.tab-panel') as HTMLElement | null)?.innerText ?? '',
		),
	);
	await looksRightNow(view, 'tree-compare');
	await page.locator('.compare-table').last().getByRole('row').first().getByRole('button').last().click();
	await page.waitForFunction(
		() => document.querySelectorAll('.tree-stage')[1]?.getAttribute('aria-activedescendant') !== null,
	);
	await page.waitForFunction(() => document.querySelector('.legend')?.textContent?.includes('Same answer'));
	await tab(page, 'Node');
	assert.match(await page.locator('.node-actions').innerText(), /Open this tree separately/);
	await page.getByRole('button', { name: 'Stop Comparing' }).click();
	await view.say({ type: 'closeOther' });
	await page.waitForFunction(() => document.querySelectorAll('.tree-canvas').length === 1);
	await drawn(page);
});

// `npm test` covers this in `hostilePages.test.ts`; this test runs only in `npm run acceptance -- pageLooks`.
if (complete)
	test('hostile text is shown as plain text', options, async (t) => {
		const view = await open(t);
		const { page } = view;
		// The maximum text length that a panel sends.
		const texts = Object.values(hostileTexts).map((text) => text.slice(0, 8000));
		await view.show(
			treeEvents([
				{
					t: 'start',
					at: 0,
					format: 1,
					id: 'x',
					strategy: texts[0] as string,
					params: { [texts[1] as string]: texts[2] },
					problem: { prompt: texts[3] as string, answer: texts[4] as string },
					policy: { name: texts[5] as string, model: texts[6] as string },
					seed: 1,
					scorers: [{ name: texts[7] as string, oracle: true }],
				},
				{ t: 'node', at: 0, id: 0, parents: [], text: texts[3] as string, role: 'problem' },
				...texts.map(
					(text, i) =>
						({
							t: 'node',
							at: i,
							id: i + 1,
							parents: [0],
							text,
							answer: text,
							final: true,
							label: i % 2 ? text : undefined,
							finish: text,
						}) as never,
				),
				...texts.flatMap(
					(text, i) =>
						[
							{ t: 'score', at: 1, id: i + 1, scorer: text, value: 0.5, note: text },
							{ t: 'tool', at: 1, id: i + 1, name: text, arguments: { [text]: text }, error: text },
							{ t: 'critique', at: 1, id: i + 1, missing: [text], superfluous: [text], addressed: [0] },
							{
								t: 'reference',
								at: 1,
								id: i + 1,
								label: text,
								source: text,
								evidence: null,
								supported: false,
								note: text,
							},
							{ t: 'prune', at: 1, id: i + 1, reason: text },
							{ t: 'fault', at: 1, id: i + 1, part: 'policy', message: text },
						] as never[],
				),
			]),
			{
				title: texts[8] as string,
				path: texts[9] as string,
				foreign: texts[10] as string,
				faults: texts,
				trees: texts,
				canGoOn: texts[11] as string,
				episodes: false,
			},
		);
		await drawn(page);
		await page.locator('.tree-stage').focus();
		await page.keyboard.press('Home');
		await page.keyboard.press('ArrowRight');
		for (let i = 0; i < texts.length; i++) {
			if (i % 15 === 0) for (const name of ['Node', 'Path', 'Events', 'Search']) await tab(page, name);
			await tab(page, 'Node');
			await page.locator('.tree-stage').focus();
			await page.keyboard.press('ArrowDown');
		}
		await page.getByRole('textbox', { name: 'Search text and answers' }).fill('<script');
		await page.keyboard.press('Enter');
		assert.equal(
			await page.locator('script:not([nonce]), img, iframe, a[href], link[rel=stylesheet] ~ style').count(),
			0,
		);
		await fitsWidth(view, 'hostile texts');
	});
