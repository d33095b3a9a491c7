import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { hiddenCharacters } from '../../../../webview/lib/trace/hiddenCharacters.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { hostileTexts } from '../../../support/hostileTexts.ts';
import { soon } from '../lateness.ts';
import { fitsWidth, looksRight } from '../webviewLooks.ts';
import { complete, type WebviewOptions } from '../webviewPage.ts';
import { writeExploredRun } from './exploredRunFixture.ts';
import { makeBatch, runRecord, writeRecord, writeRollouts } from './rolloutsFixture.ts';
import { openRollouts, type RolloutsView } from './rolloutsHarness.ts';

const options = { timeout: 240_000, skip };

let root = '';
let browser: Browser;
before(async () => {
	root = await mkdtemp(join(tmpdir(), 'rollouts-views-'));
	if (!skip) browser = await launchChromium();
	await writeExploredRun(join(root, 'bakery'));
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
		assert.deepEqual([errors, faults], [[], []], 'page errors');
	});
	return view;
}

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

/** Opens every view of the panel, one after another. */
test('every view is accessible in every theme and width', options, async (t) => {
	const view = await open(t, { width: 1280, height: 860 }, policy);
	const { page } = view;
	const look = (name: string) => looksRight(view, `rollouts-explorer-${name}`, [320]);
	await page.waitForSelector('.card .chip');
	await look('group');
	await page.keyboard.press('b');
	for (const value of ['logprob', 'entropy', 'ratio', 'kl', 'advantage']) {
		await page.keyboard.press('t');
		await page.waitForSelector('.token');
		if (value !== 'entropy' && value !== 'kl') await look(`tokens-${value}`);
	}
	await page.keyboard.press('t');
	await page.keyboard.press('G');
	await page.waitForSelector('.turn-head');
	await page.waitForSelector('.chip.warning');
	await look('remarkable');
	await page.locator('.card[data-index="4"]').scrollIntoViewIfNeeded();
	await look('episode');
	await page.keyboard.press('t');
	await page.waitForSelector('.token.observed');
	await page.locator('.card[data-index="4"]').scrollIntoViewIfNeeded();
	await look('episode-tokens');
	for (let i = 0; i < 5; i++) await page.keyboard.press('t');
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
	await look('behaviors');
	await page.keyboard.press('1');
	await page.waitForSelector('.card .block-text');
	await page.keyboard.press('s');
	await page.waitForSelector('.step-label');
	await page.keyboard.press('d');
	await page.waitForSelector('.rated-1');
	await page.keyboard.press('-');
	await page.waitForSelector('.rated--1');
	await look('label');
	await page.getByRole('button', { name: 'Back to Group' }).click();
	await page.waitForSelector('.card .block-text');
	await page.keyboard.press('e');
	await page.waitForSelector('.beginning');
	await page.getByRole('button', { name: 'Continue from Here' }).click();
	await page.waitForFunction(() => document.querySelector('.continuations')?.textContent?.includes('<answer>97'));
	await look('continue');
});

const summary = (view: RolloutsView) => view.page.locator('.statement').innerText();

test('the views of one run, one after another', options, async (t) => {
	const view = await open(t);
	const { page } = view;

	await t.test('an export contains the step, the filtered rollouts, or the selection', async () => {
		await page.waitForSelector('.card .block-text');
		const exported = () => page.getByRole('button', { name: 'Export…' }).click();
		const heard = async (count: number) => {
			await soon(() => assert.ok(view.exports.length >= count));
			return view.exports[count - 1] as { scope: string; step: number; rollouts: readonly unknown[] };
		};
		await exported();
		assert.deepEqual(await heard(1), { split: 'train', scope: 'step', step: 12, group: 0, rollouts: [] });
		await page.keyboard.press('/');
		await page.keyboard.type('104 - 7 = 97, so');
		await page.waitForFunction(() => document.querySelector('.filter-result')?.textContent?.includes('1 of 17'));
		await exported();
		assert.deepEqual((await heard(2)).rollouts, [{ split: 'train', step: 12, group: 3, index: 0 }]);
		await page.keyboard.press('Escape');
		await page.keyboard.press('x');
		await page.waitForFunction(() => document.querySelector('.filter-result')?.textContent === '17 rollouts');
		await page.keyboard.press('g');
		await page.waitForSelector('.card[data-index="5"]');
		await page.keyboard.press('v');
		await exported();
		const { scope, rollouts } = await heard(3);
		assert.deepEqual([scope, rollouts.length], ['rollouts', 1]);
		await page.keyboard.press('v');
		await page.waitForSelector('.card.chosen', { state: 'detached' });
	});

	await t.test(
		'messages are shown turn by turn, results link to their calls, and branches can be switched',
		async () => {
			await page.waitForSelector('.card .block-text');
			await page.keyboard.press('G');
			await page.waitForSelector('.chip.warning');
			const card = page.locator('.card[data-index="3"]');
			await card.scrollIntoViewIfNeeded();
			await card.locator('.turn-head').first().waitFor();
			assert.match(await card.locator('.branches').innerText(), /Branch 2 of 2 · 5 messages/);
			assert.match(await card.innerText(), /Thinking\s+Let me check which tool/);
			assert.match(await card.innerText(), /Calls\s+calculate/);
			await card.getByRole('button', { name: 'Call to calculate' }).first().click();
			await card.locator('.turn-call.pointed').waitFor();
			await card.getByRole('button', { name: 'Branch 1' }).click();
			await page.waitForFunction(() =>
				document.querySelector('.branches')?.textContent?.includes('Branch 1 of 2 · 3 messages'),
			);
			assert.match(await card.innerText(), /104 - 7 = 97/);
			assert.doesNotMatch(await card.innerText(), /104 - 17/);
			assert.deepEqual(await view.violations('names'), []);
			const episode = page.locator('.card[data-index="4"]');
			await episode.scrollIntoViewIfNeeded();
			const text = await episode.innerText();
			assert.match(text, /2 turns, 3 tool calls \(1 failed\) · ended: token limit · 12 ms in the environment/);
			assert.match(text, /Turn 1 · reward 0.25 · 4 ms/);
			assert.match(text, /▸ expand\s+908 characters\s+Higher/);
			assert.equal(await episode.locator('.badge.warning').allInnerTexts().then(String), 'failed,failed');
			assert.equal(await card.getByRole('button', { name: 'Open the episode of completion 3' }).count(), 0);
			await episode.getByRole('button', { name: 'Open the episode of completion 4' }).click();
			await soon(() => assert.deepEqual(view.episodes, [{ split: 'train', step: 12, group: 3, index: 4 }]));
			await episode.getByRole('button', { name: 'Expand result of guess' }).click();
			assert.match(await episode.locator('.region-given').first().innerText(), /^Higher\.\s+Guess a number/);
			await episode.getByRole('button', { name: 'Collapse results' }).click();
			assert.equal(await episode.locator('.region-given').count(), 0);
			// The second turn has no state.
			assert.match(
				(await episode.locator('.turn-state').allInnerTexts()).join('|'),
				/^State after turn 1\s+▸ expand\s+\{"tries":1,[^|]*$/,
			);
			await episode.getByRole('button', { name: 'Expand state after turn 1' }).click();
			assert.match(await episode.locator('.region-given').innerText(), /^\{"tries":1,"board":"<b>bold<\/b>"\}$/);
			await episode.getByRole('button', { name: 'Collapse state after turn 1' }).click();
			assert.equal(await episode.locator('.region-given').count(), 0);
			await page.keyboard.press('t');
			await page.waitForSelector('.token.observed');
			const observed = await episode.locator('.token.observed').allInnerTexts();
			assert.match(observed.join(''), /^<result>Higher\.<\/result><result>.*Lower\.<\/result>$/);
			assert.match(await page.locator('.legend-observed').innerText(), /from the environment/);
			for (let i = 0; i < 5; i++) await page.keyboard.press('t');
			await page.keyboard.press('g');
			await page.waitForFunction(() => document.querySelector('.group-title')?.textContent?.startsWith('Group 0'));
		},
	);

	await t.test(
		'two completions are selected by keyboard and by pointer, even across steps, and compared in the editor',
		async () => {
			await page.waitForSelector('.card .chip');
			await page.keyboard.press('v');
			await page.waitForSelector('.card.chosen[data-index="0"]');
			await page.getByRole('button', { name: 'Select completion 2' }).click();
			await page.waitForFunction(() => document.querySelector('.chosen [role=status]')?.textContent === '2 selected');
			await page.getByRole('button', { name: 'Compare', exact: true }).click();
			await page.waitForSelector('.m-parting');
			assert.match(await summary(view), /^Identical for \d+ tokens \(\d+ characters\), then A continues with/);
			const parting = await page.locator('.sides .m-parting').allInnerTexts();
			assert.equal(parting.length, 2);
			assert.notEqual(parting[0], parting[1]);
			await page.getByRole('button', { name: 'Open in Diff Editor' }).click();
			await soon(() => assert.ok(view.diffs.length > 0));
			assert.deepEqual(view.diffs, [
				{
					left: { split: 'train', step: 12, group: 0, index: 0 },
					right: { split: 'train', step: 12, group: 0, index: 2 },
				},
			]);
			await page.keyboard.press('1');
			await page.keyboard.press('[');
			await page.waitForFunction(() => document.querySelector('.slider-value')?.textContent === '11');
			await page.waitForSelector('.card[data-index="0"].selected');
			await page.keyboard.press('v');
			await page.keyboard.press('d');
			await page.waitForFunction(() =>
				document.querySelector('.side-a .card-index')?.textContent?.includes('step 12, group 0'),
			);
			assert.match(await page.locator('.side-b .card-index').innerText(), /#0/);
			await page.getByRole('button', { name: 'Swap A and B' }).click();
			await page.waitForFunction(() =>
				document.querySelector('.side-b .card-index')?.textContent?.includes('step 12, group 0'),
			);
			await page.getByRole('button', { name: 'Show B in its group' }).click();
			await page.waitForFunction(() => document.querySelector('.slider-value')?.textContent === '12');
			await page.waitForSelector('.card.selected[data-index="2"]');
		},
	);

	await t.test('one click or one key finds the group with the largest spread', async () => {
		await page.waitForSelector('.card .block-text');
		await page.keyboard.press('j');
		await page.waitForFunction(() => document.querySelector('.group-title')?.textContent?.startsWith('Group 1'));
		await page.keyboard.press('w');
		await page.waitForFunction(() => document.querySelector('.group-title')?.textContent === 'Group 0 (1 of 3)');
		assert.equal(
			await page
				.locator('vscode-dropdown[aria-label="Sort groups"]')
				.evaluate((node) => (node as HTMLSelectElement).value),
			'spread',
		);
	});

	await t.test('a scan stops when its view is closed, and is not restarted for the same run', async () => {
		await page.keyboard.press('4');
		const complete = () =>
			page.waitForFunction(() => document.querySelector('.scan-bar')?.textContent?.includes('Read 12 steps'));
		await complete();
		await page.waitForSelector('.example');
		await page.locator('.example').first().click();
		await page.waitForFunction(() => document.querySelector('.slider-value')?.textContent === '1');
		await page.waitForSelector('.card.selected');
		await page.keyboard.press('4');
		assert.match(
			await page.locator('.scan-bar').innerText(),
			/^Read 12 steps/,
			'the earlier scan is shown immediately',
		);
		await page.locator('.plot').focus();
		await page.keyboard.press('Home');
		await page.keyboard.press('Enter');
		await page.waitForSelector('.group-view');
	});
});

test('steps are labeled by keyboard, and each label is saved immediately', options, async (t) => {
	const run = join(root, 'labelled');
	await writeExploredRun(run, 2);
	const view = await open(t, {}, policy, run);
	const { page } = view;
	await page.waitForSelector('.card .block-text');
	await page.keyboard.press('s');
	await page.waitForSelector('.step-label[aria-selected="true"]');
	const labels = async () => {
		const text = await readFile(join(run, 'annotations/labels.jsonl'), 'utf8').catch(() => '');
		const last = text.trim().split('\n').at(-1) ?? '';
		return last === ''
			? []
			: (JSON.parse(last) as { steps: { rating: number | null }[] }).steps.map(({ rating }) => rating);
	};
	const saved = async (wanted: readonly (number | null)[]) => {
		await soon(async () => assert.deepEqual((await labels()).slice(0, wanted.length), wanted));
	};
	await page.keyboard.press('+');
	await page.keyboard.press('-');
	await page.keyboard.press('0');
	await saved([1, -1, 0]);
	await page.keyboard.press('u');
	await saved([1, -1, null]);
	await page.keyboard.press('ArrowUp');
	await page.keyboard.press('Delete');
	await saved([1, null]);
	await page.locator('.step-label').first().locator('.sign').first().click();
	await saved([-1, null]);
	await page.getByRole('button', { name: 'Back to Group' }).click();
	await page.waitForSelector('.card .block-text');
	await page.keyboard.press('s');
	await page.waitForSelector('.step-label.rated--1');
	assert.deepEqual(await view.violations('names'), []);
});

test(
	'completions are rated by keyboard and by pointer, two are compared, and everything is saved immediately',
	options,
	async (t) => {
		const run = join(root, 'rated');
		await writeExploredRun(run, 2);
		const theirs = {
			...{ kind: 'rating', format: 1, time: 1, rater: 'bob<b>', prompt: 'p', split: 'train', step: 2, group: 0 },
			...{ index: 1, completion: 'c', reward: 1, rating: 2 },
		};
		const view = await open(t, {}, policy, run);
		const { page } = view;
		await page.waitForSelector('.card-rating');
		const feedback = async () => {
			const text = await readFile(join(run, 'annotations/feedback.jsonl'), 'utf8').catch(() => '');
			const lines = text.split('\n').filter((line) => line !== '');
			return lines.map((line) => JSON.parse(line) as { index: number; rating?: number | null; choice?: string | null });
		};
		const last = async (holds: (line: Awaited<ReturnType<typeof feedback>>[number] | undefined) => boolean) => {
			await soon(async () => assert.ok(holds((await feedback()).at(-1))));
			const line = (await feedback()).at(-1);
			assert.ok(holds(line), JSON.stringify(line));
		};
		const checked = page.locator('.card.selected .rating[aria-checked="true"]');
		await page.keyboard.press('ArrowRight');
		await page.keyboard.press('+');
		await last((line) => line?.rating === 4);
		assert.equal(await checked.textContent(), '4');
		await page.keyboard.press('+');
		await page.keyboard.press('+');
		await last((line) => line?.rating === 5);
		await page.keyboard.press('0');
		await last((line) => line?.rating === null);
		await page.keyboard.press('-');
		await last((line) => line?.rating === 2);
		await page.waitForFunction(() =>
			document.querySelector('.group-rated')?.textContent?.startsWith('You have rated 1 of'),
		);
		const first = page.locator('.card').first().locator('.rating');
		await first.nth(4).click();
		await last((line) => line?.rating === 5);
		await first.nth(4).press('ArrowLeft');
		await last((line) => line?.rating === 4);
		await first.nth(3).click();
		await last((line) => line?.rating === null);
		assert.deepEqual(await view.violations('names'), []);

		await page.keyboard.press('2');
		const better = page.getByRole('button', { name: 'B Is Better' });
		await better.click();
		await last((line) => line?.choice === 'b');
		await page.waitForFunction(() => document.querySelector('.preference')?.textContent?.includes('You prefer B.'));
		assert.deepEqual(await view.violations('names'), []);
		await better.click();
		await last((line) => line?.choice === null);

		await appendFile(join(run, 'annotations/feedback.jsonl'), `${JSON.stringify(theirs)}\n`);
		await page.keyboard.press('1');
		await page.waitForSelector('.card-rating');
		await page.keyboard.press('[');
		await page.waitForFunction(() => document.querySelector('.group-rated')?.textContent === '');
		await page.keyboard.press(']');
		await page.waitForFunction(() => document.querySelector('.rating-others')?.parentElement !== null);
		await page.waitForFunction(() =>
			[...document.querySelectorAll('.rating-others')].some((one) => one.textContent === 'bob<b>: 2'),
		);
	},
);

test(
	'thinking can be truncated at a token, edited and continued; without a policy, the reason is shown',
	options,
	async (t) => {
		const view = await open(t, {}, policy);
		const { page } = view;
		await page.waitForSelector('.card .block-text');
		await page.keyboard.press('e');
		await page.waitForSelector('.token');
		await page.locator('.token', { hasText: 'Selling' }).first().click();
		const prefix = page.locator('.beginning');
		assert.match(await prefix.inputValue(), /rolls\.\n$/);
		await prefix.press('End');
		await prefix.pressSequentially('Now 104');
		await prefix.press('Control+Enter');
		await page.waitForFunction(() => document.querySelector('.continuations')?.textContent?.includes('finished (EOS)'));
		const text = await page.locator('.continuations .block-text').allInnerTexts();
		assert.match(text.join('\n'), /Now 104 So 104 - 7 = 97/);
		// Entered and generated text survives a tab switch, a new snapshot and a reload without generating again.
		const edited = `${await prefix.inputValue()}, or rather`;
		await prefix.fill(edited);
		await page.getByRole('textbox', { name: 'Temperature' }).fill('0.3');
		const state = await view.state();
		await view.session.begin();
		await page.waitForFunction(
			(text) => document.querySelector<HTMLTextAreaElement>('.beginning')?.value === text,
			edited,
		);
		const again = await open(t, { state }, policy);
		await again.page.waitForSelector('.beginning');
		assert.equal(await again.page.locator('.beginning').inputValue(), edited);
		assert.equal(await again.page.getByRole('textbox', { name: 'Temperature' }).inputValue(), '0.3');
		assert.deepEqual(await again.page.locator('.continuations .block-text').allInnerTexts(), text);
		const none = await open(t, {}, async () => ({
			policy: async () => ({
				ready: false,
				message: 'This run has no running engine and no complete checkpoint.',
				action: 'Resume the run, or wait until it has saved a checkpoint.',
				temperature: 1,
				maxTokens: 8,
			}),
			generate: async () => ({ text: '', ended: true }),
		}));
		await none.page.waitForSelector('.card .block-text');
		await none.page.keyboard.press('e');
		await none.page.waitForSelector('.beginning');
		assert.match(await none.page.locator('.continue-column').innerText(), /no running engine.*Resume the run/s);
		assert.ok(await none.page.getByRole('button', { name: 'Continue from Here' }).isDisabled());
		assert.deepEqual(await none.violations('names'), []);
	},
);

test('an external run shows its notes, its validation rollouts, and only the values it records', options, async (t) => {
	const view = await open(t, {}, policy, join(import.meta.dirname, '../../../fixtures/verl'));
	const { page } = view;
	await page.waitForSelector('.card .block-text');
	await page.getByRole('button', { name: /^verl/ }).click();
	assert.ok(await page.locator('dialog.notes').isVisible());
	assert.ok((await page.locator('dialog.notes li').count()) > 0);
	assert.deepEqual(await view.violations('names'), []);
	await page.keyboard.press('Escape');
	assert.ok(
		await page.locator('vscode-dropdown[aria-label="Tokens"]').evaluate((node) => (node as HTMLSelectElement).disabled),
	);
	await page.locator('vscode-dropdown[aria-label="Rollouts"]').click();
	await page.locator('vscode-option', { hasText: 'Validation' }).click();
	await page.waitForFunction(
		() =>
			document.querySelector('vscode-dropdown[aria-label="Rollouts"]')?.getAttribute('current-value') === 'validation',
	);
	await page.waitForSelector('.card .block-text');
	assert.deepEqual(await view.violations('names'), []);
});

// `npm test` covers this in `hostilePages.test.ts`; this test runs only in `npm run acceptance -- pageLooks`.
if (complete)
	test('hostile completions are shown as plain text in every view without breaking the layout', options, async (t) => {
		const run = join(root, 'hostile');
		await writeRecord(run, runRecord({ name: 'hostile', step: 1 }));
		const texts = Object.values(hostileTexts);
		const lines = texts.flatMap((text, i) => {
			const base = makeBatch({ step: 1, groups: 1, size: 1, tokens: false })[0];
			const own = {
				...base,
				step: 1,
				group: Math.floor(i / 8),
				index: i % 8,
				prompt: text,
				answer: text.slice(0, 300),
			};
			const completion =
				i % 4 === 0
					? [
							{ role: text.slice(0, 60), content: text, reasoning_content: text, name: text.slice(0, 60) },
							{ role: 'tool', content: text, tool_call_id: text.slice(0, 60) },
							{
								role: 'assistant',
								content: text,
								tool_calls: [{ id: text.slice(0, 60), name: text, arguments: text }],
							},
						]
					: text;
			return [{ ...own, completion, parents: i % 8 === 0 ? [null, 0, 0] : undefined }];
		});
		await writeRollouts(run, 1, lines);
		const view = await open(t, { width: 700, height: 800 }, policy, run);
		const { page } = view;
		const harmless = async (name: string) => {
			const bad = 'img, iframe, form, a, object, embed, #app style, #app script, base, [onerror], [onload], [srcdoc]';
			assert.equal(await page.locator(bad).count(), 0, name);
			const raw = await page.locator('#app').evaluate((node) => node.textContent ?? '');
			assert.deepEqual(hiddenCharacters(raw), [], `${name}: hidden characters are written out`);
			await fitsWidth(view, name);
		};
		await page.waitForSelector('.card .block-text');
		const groups = Math.ceil(texts.length / 8);
		for (let group = 0; group < groups; group++) {
			await page.waitForFunction(
				(n) => document.querySelector('.group-title')?.textContent?.startsWith(`Group ${n} `),
				group,
			);
			await page.waitForSelector('.card .block-text');
			await harmless(`group ${group}`);
			await page.keyboard.press('d');
			await page.waitForSelector('.compare-view .card, .compare-view .statement');
			await harmless(`comparison in group ${group}`);
			await page.keyboard.press('1');
			await page.keyboard.press('s');
			await page.waitForSelector('.label-view .one-head, .label-view .empty');
			await harmless(`labels in group ${group}`);
			await page.keyboard.press('Escape');
			await page.keyboard.press('1');
			await page.waitForSelector('.card');
			await page.keyboard.press('j');
		}
		await page.keyboard.press('3');
		await page.waitForFunction(() => document.querySelector('.scan-bar')?.textContent?.includes('Read 1 step'));
		await page.waitForSelector('.training-cards .card');
		await harmless('over training');
		await page.keyboard.press('4');
		await page.waitForFunction(() =>
			document.querySelector('.behaviors-view .scan-bar')?.textContent?.includes('Read 1 step'),
		);
		await harmless('behaviors');
	});

test('two long completions are compared and partially rendered, in a group and side by side', options, async (t) => {
	const run = join(root, 'long');
	await writeRecord(run, runRecord({ step: 2 }));
	const common = 'The same words again and again. '.repeat(8000);
	const [first] = makeBatch({ step: 1, groups: 1, size: 1, tokens: false });
	const long = ['left', 'right'].map((end, index) => ({
		...first,
		index,
		completion: `<think>${common}${end} ${common}</think>`,
	}));
	await writeRollouts(run, 1, long);
	await writeRollouts(run, 2, makeBatch({ step: 2, groups: 1, size: 300, sentences: 1, tokens: false }));
	const view = await open(t, {}, policy, run);
	const { page } = view;
	await page.waitForSelector('.card .block-text');
	await page.keyboard.press('2');
	await page.waitForSelector('.statement');
	await page.keyboard.press('1');
	await page.keyboard.press('[');
	await page.waitForFunction(() => document.querySelector('.slider-value')?.textContent === '1');
	// Exclude the cards of the other step, which remain until those of this step arrive.
	await page.waitForFunction(() => document.querySelectorAll('.card').length === 2);
	await page.waitForSelector('.card .block-text');
	await page.keyboard.press('2');
	await page.waitForFunction(() => {
		const marks = [...document.querySelectorAll('.sides .m-parting')];
		return (
			marks.length === 2 &&
			marks.every((mark) => {
				const list = mark.closest('.virtual-list');
				if (!list) return false;
				const [a, b] = [mark.getBoundingClientRect(), list.getBoundingClientRect()];
				return a.top >= b.top && a.bottom <= b.bottom;
			})
		);
	});
	assert.match(await summary(view), /Identical for 256,007 characters, then A continues with l, B continues with r/);
	const drawn = await page.locator('.sides').evaluate((node) => (node.textContent ?? '').length);
	assert.ok(drawn < 120_000, `${drawn} characters are in the document`);
});
