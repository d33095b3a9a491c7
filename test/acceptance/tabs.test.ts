// @reaches extension dashboard rollouts verification query transcript comparison tree strategies dataset playground
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Frame } from 'playwright-core';
import { commandIds as id } from '../../src/extension/ids.ts';
import { HostDriver } from '../e2e/hostDriver.ts';
import { Laboratory } from '../e2e/laboratory.ts';
import type { AppName } from '../e2e/pages/workbenchPage.ts';
import { skip } from '../support/chromium.ts';
import { mctsEvents } from '../support/treeEvents.ts';
import { reflexionFile } from '../unit/core/transcript/reflexion.ts';
import { grpoRecipe, writeComparedRun } from '../unit/webview/comparison/comparisonFixture.ts';
import { writeExploredRun } from '../unit/webview/rollouts/exploredRunFixture.ts';
import { makeComparison } from '../unit/webview/strategies/strategiesHarness.ts';

/** A panel and the user interactions to perform in it. */
interface Kind {
	readonly app: AppName;
	readonly command: string;
	readonly arguments: readonly unknown[];
	/** Matches the tab's title. */
	readonly tab: RegExp;
	/** Selector of an element that exists once the page is complete. */
	readonly ready: string;
	/** Types, selects and filters. */
	readonly use: (frame: Frame) => Promise<unknown>;
	/** Steps required after a reload to show the same data. */
	readonly again?: (frame: Frame) => Promise<unknown>;
}

interface Seen {
	/** Field values and the selected, pressed, open or checked elements. */
	readonly chosen: readonly string[];
	/** Scroll positions by element. */
	readonly scrolled: readonly string[];
}

/** Returns what the user has typed, selected and scrolled to on any page. */
function look(frame: Frame): Promise<Seen> {
	return frame.evaluate(() => {
		const nameOf = (node: Element) =>
			node.getAttribute('aria-label') ?? `${node.tagName.toLowerCase()}.${[...node.classList].join('.')}`;
		const chosen: string[] = [];
		for (const node of document.querySelectorAll<HTMLInputElement>('input, textarea, select, vscode-text-field')) {
			if (node.type === 'range' || !node.checkVisibility()) continue;
			chosen.push(`${nameOf(node)} = ${node.type === 'checkbox' ? node.checked : node.value}`);
		}
		for (const name of ['aria-selected', 'aria-pressed', 'aria-checked', 'aria-expanded', 'aria-current']) {
			for (const node of document.querySelectorAll(`[${name}]`)) {
				const value = node.getAttribute(name);
				if (value !== 'false' && node.checkVisibility())
					chosen.push(`${name} ${nameOf(node)} ${node.textContent?.slice(0, 40)}`);
			}
		}
		const scrolled = [...document.querySelectorAll('*')]
			.filter((node) => node.scrollTop > 0 || node.scrollLeft > 0)
			.map((node) => `${nameOf(node)} at ${node.scrollLeft}, ${node.scrollTop}`);
		return { chosen, scrolled };
	});
}

/** Returns the page state once it stops changing: input takes effect with a delay, and requested data arrives later. */
async function settled(frame: Frame): Promise<Seen> {
	for (let before = await look(frame), same = 0; ; ) {
		await frame.waitForTimeout(150);
		const now = await look(frame);
		same = isDeepStrictEqual(now, before) ? same + 1 : 0;
		if (same >= 2) return now;
		before = now;
	}
}

/** Scrolls every scrollable element a little. */
async function scroll(frame: Frame): Promise<void> {
	await frame.evaluate(async () => {
		for (const node of document.querySelectorAll('*')) {
			if (node.scrollHeight > node.clientHeight + 30 && /auto|scroll/.test(getComputedStyle(node).overflowY))
				node.scrollTop = 30;
		}
		document.scrollingElement?.scrollTo(0, 40);
		for (let i = 0; i < 3; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
	});
}

test('every panel keeps its state while its tab is hidden', { skip }, async (t) => {
	const driver = new HostDriver();
	t.after(() => driver.dispose());
	const lab = await Laboratory.open(t, 'tabs', { extensions: [driver.folder] });
	const path = (name: string) => join(lab.workspace, name);
	await writeComparedRun(path('runs'), { name: 'plain', level: 0.4, recipe: grpoRecipe() });
	await writeComparedRun(path('runs'), { name: 'clipped', level: 0.9, recipe: grpoRecipe({ epsilon_high: 0.28 }) });
	await writeExploredRun(path('runs/bakery'), 4, 8);
	copyFileSync(reflexionFile, path('agent.txt'));
	mkdirSync(path('searches'));
	writeFileSync(
		path('searches/sums.jsonl'),
		mctsEvents({ nodes: 200 })
			.map((event) => `${JSON.stringify(event)}\n`)
			.join(''),
	);
	renameSync(await makeComparison(), path('strategies'));
	const rows = Array.from({ length: 300 }, (_, i) => ({ prompt: `${i}+${i}`, answer: `${2 * i}` }));
	lab.write('train.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
	lab.write(
		'right.reward.ts',
		'// @dataset train.jsonl\nexport const right = ({ completion, answer }) => (completion.includes(answer) ? 1 : 0);\n',
	);
	lab.write('played.script.json', { name: 'played', rules: [{ say: '<think>x</think><answer>5</answer>' }] });
	lab.write('note.txt', 'Something else.\n');

	const kinds: readonly Kind[] = [
		{
			...{ app: 'dashboard', command: id.openDashboard, arguments: [path('runs/plain')], tab: /^plain/ },
			ready: 'canvas',
			use: async (frame) => {
				await frame
					.getByRole('textbox', { name: /filter/i })
					.first()
					.fill('e');
				await frame.getByRole('button', { name: 'Reward as a table' }).click();
			},
		},
		{
			...{ app: 'rollouts', command: id.openRollouts, arguments: [path('runs/bakery')], tab: /countdown|bakery/ },
			ready: '.card .block-text',
			use: async (frame) => {
				await frame.getByRole('listbox', { name: 'Groups' }).getByRole('option').nth(2).click();
			},
		},
		{
			...{
				app: 'comparison',
				command: id.compareRuns,
				arguments: [path('runs/plain'), [path('runs/plain'), path('runs/clipped')]],
				tab: /^Compare/,
			},
			ready: 'canvas',
			use: async (frame) => {
				await frame.getByRole('textbox').first().fill('rew');
			},
		},
		{
			...{ app: 'query', command: id.queryRollouts, arguments: [], tab: /^Query Rollouts/ },
			ready: '.runs-summary',
			use: async (frame) => {
				await frame.getByLabel('Text that completions must hold').fill('trays');
				await frame.locator('vscode-button[aria-label="Add Condition"]').click();
				await frame.getByLabel('Condition 1: value').fill('0.5');
			},
		},
		{
			...{ app: 'transcript', command: id.openTranscript, arguments: [path('agent.txt')], tab: /agent\.txt/ },
			ready: '.finding',
			use: (frame) => frame.locator('.message-head').nth(2).click(),
		},
		{
			...{
				app: 'tree',
				command: id.openSearchTree,
				arguments: [path('searches/sums.jsonl')],
				tab: /six times seven|sums/,
			},
			ready: 'header .facts',
			use: async (frame) => {
				await frame.getByRole('tree').first().focus();
				await frame.page().keyboard.press('ArrowRight');
				await frame.getByRole('tab').nth(1).click();
			},
		},
		{
			...{
				app: 'strategies',
				command: id.compareStrategies,
				arguments: [{ folder: path('strategies') }],
				tab: /^sums|strategies/,
			},
			ready: '.point',
			use: (frame) => frame.locator('.point-name').nth(2).click(),
		},
		{
			...{ app: 'dataset', command: id.openDataset, arguments: [path('train.jsonl')], tab: /^train\.jsonl/ },
			ready: '.data-rows .row-number',
			use: async (frame) => {
				await frame.locator('.data-rows [data-index="5"] .cell').first().click();
			},
		},
		{
			...{
				app: 'verification',
				command: id.showVerification,
				arguments: [path('right.reward.ts'), 'right'],
				tab: /right/,
			},
			ready: '.block-text',
			use: (frame) => frame.getByRole('textbox', { name: /^Search/ }).fill('2'),
			// Verification results are not stored on disk.
			again: (frame) => frame.getByRole('button', { name: 'Verify', exact: true }).click(),
		},
		{
			...{
				app: 'playground',
				command: id.openPlayground,
				arguments: [{ kind: 'scripted', file: path('played.script.json') }],
				tab: /Playground/,
			},
			ready: '.policy',
			use: async (frame) => {
				await frame.getByRole('textbox', { name: 'Question', exact: true }).fill('What is 2 + 3?\n'.repeat(20));
			},
		},
	];
	const workbench = await lab.workbench();
	workbench.page.setDefaultTimeout(20_000);
	const left = new Map<AppName, Seen>();
	for (const kind of kinds) {
		await t.test(`${kind.app}: fields, selections and scroll positions are changed`, async () => {
			await driver.run(
				(vscode, { command, args }) => {
					void vscode.commands.executeCommand(command, ...args);
				},
				{ command: kind.command, args: kind.arguments },
			);
			const frame = await workbench.app(kind.app, 20_000);
			await frame.locator(kind.ready).first().waitFor({ timeout: 30_000 });
			const before = await look(frame);
			await kind.use(frame);
			await scroll(frame);
			const after = await settled(frame);
			assert.notDeepEqual(after.chosen, before.chosen);
			left.set(kind.app, after);
		});
	}
	await workbench.openFile('note.txt');
	for (const { app, tab } of kinds) {
		await t.test(`${app}: after switching to another tab and back`, async () => {
			await workbench.editorTab(tab).first().click();
			const frame = await workbench.app(app, 20_000);
			assert.deepEqual(await settled(frame), left.get(app));
		});
	}
	await workbench.openFile('note.txt');
	await workbench.reload();
	for (const { app, tab, ready, again } of kinds) {
		await t.test(`${app}: after reloading the window`, async () => {
			await workbench.editorTab(tab).first().click();
			const frame = await workbench.app(app, 20_000);
			await again?.(frame);
			await frame.locator(ready).first().waitFor();
			assert.deepEqual((await settled(frame)).chosen, left.get(app)?.chosen);
		});
	}
});
