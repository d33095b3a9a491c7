import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { type TreeEvent, treeEventSchema } from '../../../../src/protocol/treeLog.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { soon } from '../lateness.ts';
import { fitsWidth, looksRight, looksRightNow } from '../webviewLooks.ts';
import { openTree, type TreeView } from './treeHarness.ts';

const evil = '<img src=x onerror="window.attacked=1">';
const override = String.fromCodePoint(0x202e);

const event = (value: unknown): TreeEvent => decodeOrThrow(treeEventSchema, value, 'An event');

const text = [
	'<think>',
	'Two',
	' and',
	' two',
	' are',
	' four',
	'.\n',
	`${evil}${override}`,
	' So',
	' it',
	' is',
	' 4',
	'</think>',
];
const certain = (token: string) => [
	[token, Math.log(0.97)],
	[' x', Math.log(0.02)],
];
const chances: Readonly<Record<number, readonly (readonly [string, number])[]>> = {
	1: [
		['Two', 0.48],
		['First', 0.4],
		['Let', 0.1],
	],
	4: [
		[' make', 0.3],
		[' are', 0.28],
		[' is', 0.25],
		[' =', 0.1],
	],
	8: [
		[' So', 0.1],
		[' Thus', 0.1],
		[' Hence', 0.1],
		[' Now', 0.09],
	],
};

const tree = (): TreeEvent[] => {
	const top = text.map((token, i) => chances[i]?.map(([word, p]) => [word, Math.log(p)]) ?? certain(token));
	const logprob = text.map((token, i) => (top[i]?.find(([word]) => word === token)?.[1] as number | undefined) ?? -4);
	const long = Array.from({ length: 20_000 }, (_, i) => (i % 12 === 11 ? ' word.\n' : ` w${i}`));
	return [
		{
			t: 'start',
			at: 0,
			format: 1,
			id: 's',
			strategy: 'token-forking',
			params: {},
			seed: 0,
			problem: { prompt: '2+2=' },
			policy: { name: 'scripted' },
		},
		{ t: 'node', at: 0, id: 0, parents: [], text: '2+2=', role: 'problem' },
		{ t: 'node', at: 1, id: 1, parents: [0], text: text.join(''), role: 'thought', logprob: -5, tokens: text.length },
		{
			t: 'tokens',
			at: 1,
			id: 1,
			text,
			logprob,
			top,
			partial: false,
			entropy: logprob.map((x, i) => (i === 3 ? null : -x)),
		},
		{ t: 'node', at: 2, id: 2, parents: [1], text: '<answer>4</answer>', role: 'answer', final: true, answer: '4' },
		{ t: 'node', at: 3, id: 3, parents: [0], text: long.join(''), role: 'thought' },
		{ t: 'tokens', at: 3, id: 3, text: long, logprob: long.map((_, i) => (i % 97 === 0 ? -4 : -0.1)) },
		{ t: 'node', at: 4, id: 4, parents: [0], text: `look 1${evil}`, written: 6, reward: 0.25, final: true },
		{ t: 'tokens', at: 4, id: 4, text: ['look', ' 1'], logprob: [-0.5, -1] },
	].map(event);
};

describe('node tokens in a browser', { skip }, () => {
	let browser: Browser;
	const opened: TreeView[] = [];
	before(async () => {
		browser = await launchChromium();
	});
	afterEach(async () => {
		for (const view of opened.splice(0)) {
			assert.deepEqual([view.errors, view.faults], [[], []]);
			await view.close();
		}
	});
	after(async () => {
		await browser?.close();
	});

	/** Opens a tree and shows the tokens of one of its nodes. */
	async function openTokens(node: number, options: Parameters<typeof openTree>[1] = {}, canGoOn: true | string = true) {
		const view = await openTree(browser, { width: 1200, height: 900, ...options });
		opened.push(view);
		await view.show(tree(), { canGoOn });
		await view.page.getByRole('tab', { name: 'Tokens' }).click();
		await view.say({ type: 'reveal', node });
		return view;
	}
	const facts = (view: TreeView) => view.page.locator('.token-view .token-facts').innerText();
	const rows = (view: TreeView) => view.page.locator('.token-alternatives .alternative').allInnerTexts();

	it('are accessible in every theme', async () => {
		const view = await openTokens(1);
		await view.page.locator('.token-alternatives .alternative').first().waitFor();
		await looksRight(view, 'tree-tokens');
		await view.page.locator('[data-token="4"]').hover();
		await view.page.locator('.token-hover .alternative').first().waitFor();
		await looksRightNow(view, 'tree-tokens-hover');
	});

	it('show values and alternatives by keyboard, and a different token can be forced', async () => {
		const view = await openTokens(1);
		const { page } = view;
		await page.locator('.token-view .text-body').focus();
		// The first fork is selected initially.
		assert.match(await facts(view), /^Token 2 of 13, “Two”: .*fork: top two tokens are close$/);
		assert.deepEqual(
			(await rows(view)).map((row) => row.replace(/\s+/g, ' ')),
			['Two sampled 48.0%', 'Force First 40.0%', 'Force Let 10.0%'],
		);
		await page.keyboard.press('n');
		assert.match(await facts(view), /^Token 5 .*branch: several likely tokens/);
		await page.keyboard.press('n');
		assert.match(await facts(view), /^Token 9 .*flat: no likely token/);
		await page.keyboard.press('p');
		await page.keyboard.press('ArrowLeft');
		// The entropy was not recorded, so it is estimated from the alternatives.
		assert.match(await facts(view), /^Token 4 .*entropy ≈ /);
		await page.keyboard.press('ArrowRight');
		await page.keyboard.press('Enter');
		await page.keyboard.press('ArrowDown');
		await page.keyboard.press('ArrowUp');
		await page.keyboard.press('Enter');
		await page.locator('.token-alternatives button').last().click();
		await soon(() => assert.ok(view.commands.length >= 2));
		assert.deepEqual(view.commands, [
			{ type: 'force', node: 1, token: 4, text: ' make' },
			{ type: 'force', node: 1, token: 4, text: ' =' },
		]);
		await page.locator('.token-alternatives button').first().focus();
		await page.keyboard.press('Escape');
		await page.waitForFunction(() => document.activeElement?.classList.contains('text-body'));
	});

	it('are shown as plain text, with hidden characters named', async () => {
		const view = await openTokens(1);
		await view.page.locator('[data-token="7"]').click();
		assert.match(await facts(view), /<img.*⟨RLO⟩/);
		assert.equal(await view.page.evaluate(() => 'attacked' in window), false);
		assert.equal(await view.page.locator('.token-view img').count(), 0);
	});

	it('in a turn cover only what the policy wrote; the results of its calls are marked as not sampled', async () => {
		const view = await openTokens(4);
		await soon(async () => assert.equal(await view.page.locator('.token-view [data-token]').count(), 2));
		const results = view.page.getByRole('region', { name: 'Results' });
		assert.equal(await results.locator('.observed').innerText(), evil);
		await looksRightNow(view, 'tree-tokens-turn');
		await view.page.getByRole('tab', { name: 'Node', exact: true }).click();
		assert.match(await view.page.locator('.facts-list').first().innerText(), /Reward\s+0\.25/);
		await view.say({ type: 'reveal', node: 1 });
		await view.page.getByRole('tab', { name: 'Tokens' }).click();
		await soon(async () => assert.equal(await view.page.locator('.token-view [data-token]').count(), 13));
		assert.equal(await results.count(), 0);
	});

	it('can be colored by another statistic, which is kept for the next node', async () => {
		const view = await openTokens(1);
		const { page } = view;
		const level = async (token: number) =>
			/level-\w+/.exec((await page.locator(`[data-token="${token}"]`).getAttribute('class')) ?? '')?.[0];
		await page.locator('.token-view .token').first().waitFor();
		assert.equal(await level(11), 'level-0');
		await page.locator('.token-view vscode-dropdown').click();
		await page.locator('.token-view vscode-option', { hasText: 'Top-two gap' }).click();
		assert.equal(await level(8), 'level-6');
		assert.equal(await level(11), 'level-0');
		assert.match(
			(await page.locator('.token-strip').getAttribute('aria-label')) ?? '',
			/^Top-two gap over 13 tokens: .*3 forks$/,
		);
		await view.say({ type: 'reveal', node: 2 });
		await page.getByText('The policy returned no token data').waitFor();
		await view.say({ type: 'reveal', node: 0 });
		await page.getByText('The problem is input, so it has no token data').waitFor();
		await view.say({ type: 'reveal', node: 1 });
		await page.locator('.token-strip[aria-label^="Top-two gap"]').waitFor();
	});

	it('of a long text are partially rendered and reachable from the chart, with the reason why none can be forced', async () => {
		const view = await openTokens(3, {}, 'The tree is of another program.');
		const { page } = view;
		await page.locator('.token-view .token').first().waitFor();
		assert.ok((await page.locator('.token-view .token').count()) < 3000);
		const box = await page.locator('.token-strip').boundingBox();
		await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + 10);
		await page.locator('.token.current').waitFor();
		const at = Number(await page.locator('.token.current').getAttribute('data-token'));
		assert.ok(Math.abs(at - 10_000) < 100, `${at}`);
		assert.equal(await page.locator('.token-alternatives button').count(), 0);
		await page.getByText('The tree is of another program.').first().waitFor();
		// Without alternatives there are no forks to jump to.
		assert.equal(await page.getByText('forks').count(), 0);
		await page.setViewportSize({ width: 320, height: 800 });
		await fitsWidth(view, '320 px');
	});
});
