import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { type ChosenPolicy, playgroundStateSchema } from '../../../../src/protocol/playgroundMessages.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { patience, soon } from '../lateness.ts';
import { looksRight, looksRightNow } from '../webviewLooks.ts';
import {
	adder,
	careless,
	openPlayground,
	type PlaygroundOptions,
	type PlaygroundView,
	scripted,
} from './playgroundHarness.ts';

const options = { timeout: patience(240_000), skip };

let browser: Browser;
let first: ChosenPolicy;
let second: ChosenPolicy;
before(async () => {
	if (skip) return;
	[browser, first, second] = await Promise.all([
		launchChromium(),
		scripted(adder, 'adder'),
		scripted(careless, 'careless'),
	]);
});
after(() => browser?.close());

/** Opens the view, with its policies, and closes it after the test, which fails if the page had an error. */
async function open(t: TestContext, more: PlaygroundOptions = {}) {
	const view = await openPlayground(browser, more);
	for (const policy of more.policies ?? []) {
		if (policy !== null) await view.page.locator('.policy', { hasText: policy.name }).waitFor();
	}
	t.after(async () => {
		const { errors, faults } = view;
		await view.close();
		assert.deepEqual([errors, faults], [[], []], 'page errors');
	});
	return view;
}

const question = (view: PlaygroundView) => view.page.getByRole('textbox', { name: 'Question', exact: true });
const field = (view: PlaygroundView, name: string) => view.page.getByRole('textbox', { name }).first();

/** Sends a prompt and waits for the completion. */
async function ask(view: PlaygroundView, text: string, expected = ''): Promise<void> {
	const { page, session } = view;
	const before = session.history.exchanges.length;
	await question(view).fill(text);
	await field(view, 'Expected answer').fill(expected);
	await question(view).press('Control+Enter');
	await page.waitForFunction((n) => document.querySelectorAll('.history-row').length > n, before);
	await session.settled;
	// The last redraw comes after the session has settled.
	await page.waitForFunction(() => {
		const states = [...document.querySelectorAll('.side-name [role=status]')].map((node) => node.textContent);
		return states.length > 0 && states.every((words) => /^(?!.*…).*(tokens|Failed|Stopped)/.test(words));
	});
}

test('when empty, the view explains what to do and offers buttons', options, async (t) => {
	for (const { theme, width } of [
		{ theme: 'dark', width: 1100 },
		{ theme: 'light', width: 360 },
	] as const) {
		const view = await open(t, { theme, width, height: 700 });
		await view.page.getByRole('button', { name: 'Select Policy…', exact: true }).last().click();
		await view.page.getByRole('button', { name: 'Add a Server…' }).click();
		await soon(() => assert.deepEqual(view.commands, [{ type: 'choosePolicy', side: 0 }, { type: 'addServer' }]));
		await looksRightNow(view, `playground-empty-${width}`);
	}
	const denied = await open(t, { forbidden: 'Searches are disabled because this workspace is not trusted.' });
	await denied.page.getByText('Playground disabled').waitFor();
	await looksRightNow(denied, 'playground-untrusted');
});

test('two policies get the same prompt, and the view is accessible in every theme and width', options, async (t) => {
	const played = { ...first, environment: 'guess.env.py' };
	const view = await open(t, { width: 1280, height: 1000, policies: [played, second] });
	const { page } = view;
	await field(view, 'Samples').fill('2');
	await ask(view, 'What is 17 + 25?', '42');
	assert.equal(await page.locator('.side').count(), 2);
	assert.equal(await page.locator('.card').count(), 4);
	assert.equal(await page.locator('.side').nth(1).locator('.badge.wrong').count(), 2);
	await page.locator('.region-think').first().waitFor();
	await looksRight(view, 'playground', [340, 760]);
	await page.locator('.side').nth(1).getByText('Prompt as sent').click();
	await page.getByRole('button', { name: 'Tokens', exact: true }).click();
	await page.locator('.token-view').first().waitFor();
	const prompts = await page
		.locator('.given-part')
		.evaluateAll((all) => all.map((one) => (one as HTMLDetailsElement).open));
	assert.deepEqual(prompts, [false, true], 'redraws do not close a prompt');
	await looksRight(view, 'playground-tokens', [340, 760]);
	await page.getByRole('button', { name: 'Play Episode with adder…' }).click();
	await soon(() => assert.deepEqual(view.commands.at(-1), { type: 'playEpisode', side: 0 }));
});

test('a token can be replaced, and back, undo and redo work by keyboard alone', options, async (t) => {
	const view = await open(t, { policies: [first, null], height: 1000 });
	const { page, session } = view;
	await field(view, 'Temperature').fill('0');
	await ask(view, 'What is 17 + 25?', '42');
	assert.match(await page.locator('.card-head').innerText(), /Correct/);
	await page.getByRole('button', { name: 'Tokens', exact: true }).click();
	const tokens = session.history.exchanges[0]?.sides[0]?.samples[0]?.detail;
	const fork = tokens?.top?.findIndex((top) => top.length > 1) ?? -1;
	assert.ok(fork > 0, 'there is a fork');
	await page.locator('.token-view .text-body').focus();
	for (let at = Number(await page.locator('.token.current').getAttribute('data-token')); at < fork; at++) {
		await page.keyboard.press('ArrowRight');
	}
	await page.keyboard.press('Enter');
	const forced = page.locator('button.alternative:focus');
	assert.match(await forced.innerText(), /\d%/);
	await page.keyboard.press('Enter');
	await page.waitForFunction(() => document.querySelectorAll('.history-row').length === 2);
	await session.settled;
	await page.locator('.badge.wrong').waitFor();
	const branch = session.history.exchanges[1];
	assert.equal(branch?.branch?.token, fork);
	const sample = branch?.sides[0]?.samples[0];
	assert.match(sample?.text ?? '', /is 43[\s\S]*<answer>43<\/answer>$/);
	assert.equal(sample?.detail?.text.join(''), sample?.text);
	await looksRightNow(view, 'playground-branch');
	await page.getByRole('button', { name: 'Back to Branch Point' }).click();
	await page.locator('.badge.right').waitFor();
	await page.getByRole('button', { name: 'Undo' }).click();
	await page.waitForFunction(() => document.querySelectorAll('.history-row').length === 1);
	await page.getByRole('button', { name: 'Redo' }).click();
	await page.locator('.badge.wrong').waitFor();
	await page.locator('.history-row[aria-current]').focus();
	await page.keyboard.press('ArrowUp');
	await page.keyboard.press('Enter');
	await page.locator('.badge.right').waitFor();
});

test('errors are shown where they occurred, and Stop works', options, async (t) => {
	const view = await open(t, { policies: [first, second] });
	const { page, session } = view;
	await ask(view, 'fail');
	assert.match(await page.locator('.side-failure').innerText(), /server is down/);
	assert.equal(await page.locator('.side').nth(1).locator('.card').count(), 1, 'the other policy still answers');
	await looksRightNow(view, 'playground-failed');
	session.setPolicies([first, null]);
	await question(view).fill('slow');
	await page.getByRole('button', { name: 'Ask', exact: true }).click();
	const stop = page.getByRole('button', { name: 'Stop', exact: true });
	await stop.waitFor();
	await stop.click();
	await session.settled;
	await page.locator('.side-name', { hasText: 'Stopped' }).waitFor();
	assert.equal(await stop.isVisible(), false);
	await field(view, 'Temperature').fill('warm');
	await question(view).press('Control+Enter');
	assert.match(await page.locator('.form .problem').innerText(), /Temperature must be a number from 0 to 10/);
	await field(view, 'Temperature').fill('1');
	await field(view, 'Max tokens').fill('3');
	await ask(view, 'What is 17 + 25?');
	await page.locator('.badge', { hasText: 'Truncated' }).waitFor();
});

test('policy output is shown as plain text', options, async (t) => {
	const view = await open(t, { policies: [first, null] });
	await ask(view, 'hostile', '<script>1</script>');
	assert.equal(await view.page.locator('.exchange img, .exchange script').count(), 0);
	assert.match(await view.page.locator('.card-body').innerText(), /<img src=x onerror=alert\(1\)>RLO/);
	await view.page.getByRole('button', { name: 'Tokens', exact: true }).click();
	await view.page.locator('.token-view').waitFor();
	assert.equal(await view.page.locator('.exchange img, .exchange script').count(), 0);
});

test('the view rescores, saves and copies completions, and restores its content after a reload', options, async (t) => {
	const view = await open(t, { policies: [first, null] });
	const { page, session } = view;
	await field(view, 'Temperature').fill('0');
	await ask(view, 'What is 17 + 25?');
	assert.equal(await page.locator('.badge.right').count(), 0);
	await field(view, 'Expected answer').fill('43');
	await page.getByRole('button', { name: 'Check Expected Answer' }).click();
	await page.locator('.badge.wrong').waitFor();
	await page.getByRole('button', { name: 'Save as Case' }).click();
	await page.getByRole('button', { name: 'Copy as API call' }).click();
	await page.waitForFunction(() => /Copied|Saved/.test(document.querySelector('[aria-live]')?.textContent ?? ''));
	const place = { exchange: 1, side: 0, sample: 0 };
	assert.deepEqual(view.saved, [place]);
	assert.deepEqual(view.copied, [{ ...place, as: 'api' }]);
	await page.getByRole('combobox', { name: 'Template' }).selectOption('custom');
	await page.getByRole('textbox', { name: /^Template/ }).fill('Q: {prompt} A:');
	const state = decodeOrThrow(playgroundStateSchema, await view.state(), 'The state');
	assert.equal(state.exchanges.length, 1);
	const again = await open(t, { policies: state.policies, exchanges: state.exchanges, state });
	await again.page.locator('.badge.wrong').waitFor();
	assert.equal(await question(again).inputValue(), 'What is 17 + 25?');
	assert.equal(await again.page.getByRole('textbox', { name: /^Template/ }).inputValue(), 'Q: {prompt} A:');
	await ask(again, 'What is 17 + 25?');
	assert.equal(again.session.history.exchanges.at(-1)?.sides[0]?.prompt, 'Q: What is 17 + 25? A:');
	assert.equal(session.history.exchanges.length, 1, 'the other playground is unchanged');
});

test('latent thoughts open above the tokens, as text', options, async (t) => {
	const made = await open(t, { policies: [first, null] });
	await ask(made, 'What is 17 + 25?');
	const thoughts: [string, number][][] = [
		[
			['a', Math.log(0.75)],
			['<img src=x onerror=alert(1)>', Math.log(0.2)],
		],
		[['b', Math.log(0.5)]],
	];
	const exchanges = made.session.history.exchanges.map((exchange) => ({
		...exchange,
		sides: exchange.sides.map((side) => ({
			...side,
			samples: side.samples.map((sample) => ({ ...sample, thoughts })),
		})),
	}));
	const view = await open(t, { policies: [first, null], exchanges });
	await view.page.getByRole('button', { name: 'Tokens', exact: true }).click();
	await view.page.getByText('2 latent thoughts').click();
	const shown = view.page.locator('.thoughts > ol > li');
	assert.equal(await shown.count(), 2);
	assert.match(await shown.first().innerText(), /a\s+75\.0%\s+<img·src=x·onerror=alert\(1\)>\s+20\.0%/);
	assert.equal(await view.page.locator('.thoughts img').count(), 0);
	await looksRight(view, 'playground-thoughts', [340, 760]);
});
