/**
 * Takes the walkthrough's screenshots in media/walkthrough, in a dark and a light theme: the pages of the product with
 * real runs, a real search, and a reward verified on data.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { decodeOrThrow } from '../../src/protocol/decode.ts';
import { treeEventSchema } from '../../src/protocol/treeLog.ts';
import { openTable } from '../../src/runs/dataset/openTable.ts';
import { openDashboard } from '../unit/webview/dashboard/dashboardHarness.ts';
import { openDataset } from '../unit/webview/dataset/datasetHarness.ts';
import { openRollouts } from '../unit/webview/rollouts/rolloutsHarness.ts';
import { openTree } from '../unit/webview/tree/treeHarness.ts';
import { resultsProject } from '../unit/webview/verification/verificationFixture.ts';
import { openResults, withData } from '../unit/webview/verification/verificationHarness.ts';
import type { Webview } from '../unit/webview/webviewPage.ts';
import { cache, node, root } from './paths.ts';
import { findChromium } from './workbench/chromium.ts';

const folder = join(root, 'media/walkthrough');
const size = { width: 960, height: 640 };
const themes = { dark: 'dark', light: 'light' } as const;

/**
 * @param demo folder of a finished run of the demo
 * @param pytorch folder of a run of the small recipe in the template *Pretrained model (PyTorch)*
 */
export async function walkthroughPictures(demo: string, pytorch: string): Promise<void> {
	const found = await findChromium(console.log);
	if ('missing' in found) throw new Error(found.missing);
	mkdirSync(folder, { recursive: true });
	const browser = await chromium.launch(found.launch);
	const ends: (() => unknown)[] = [];
	const context = { after: (end: () => unknown) => ends.push(end) } as unknown as TestContext;
	const made = join(cache, 'walkthrough');
	rmSync(made, { recursive: true, force: true });
	mkdirSync(made, { recursive: true });
	try {
		await take('demo', (theme) => openDashboard(browser, demo, { ...size, ...theme }), 'canvas');
		await take('rollouts', (theme) => openRollouts(browser, demo, { ...size, ...theme }), '.card');
		const data = join(root, 'media/templates/starter/data/train.jsonl');
		await take(
			'data',
			(theme) => openDataset(browser, 'train.jsonl', () => openTable(data), { ...size, ...theme }),
			'[role=row]',
		);
		await reward(browser, context);
		const trl = join(root, 'test/fixtures/trl-run');
		await take('other-trainer', (theme) => openDashboard(browser, trl, { ...size, ...theme }), 'canvas');
		await pretrained(browser, pytorch);
		await search(browser, made);
	} finally {
		await browser.close();
		for (const end of ends.toReversed()) await end();
	}
}

export async function pretrained(browser: Browser, run: string): Promise<void> {
	await take('pretrained', (theme) => openDashboard(browser, run, { ...size, ...theme }), 'canvas');
}

async function reward(browser: Browser, context: TestContext): Promise<void> {
	const project = await resultsProject(context);
	const verification = await project.verify();
	const place = { view: 'verification', file: project.file, reward: 'graded' } as const;
	const before = withData(verification);
	await take(
		'reward',
		(theme) => openResults(browser, place, { ...size, ...theme, before }),
		'.row-detail .block-text',
	);
}

/** The README example, whose policy is a script. */
async function search(browser: Browser, made: string): Promise<void> {
	const log = join(made, 'heads.jsonl');
	const script = join(root, 'media/examples/heads.script.json');
	const options = ['--strategy', 'mcts', '--guide', 'mean-logprob', '--answer', '12', '--alternatives', '5'];
	const question = '35 heads and 94 legs: how many rabbits?';
	await promisify(execFile)(
		node,
		[join(root, 'dist/cli.js'), 'search', question, '--policy', script, ...options, '--log', log],
		{ cwd: made },
	);
	const events = readFileSync(log, 'utf8')
		.trim()
		.split('\n')
		.map((line) => decodeOrThrow(treeEventSchema, JSON.parse(line), 'A line of the log'));
	const open = async (options: Parameters<typeof openTree>[1]) => {
		const view = await openTree(browser, options);
		await view.show(events, { title: question, path: log });
		return view;
	};
	await take('search', (options) => open({ ...size, ...options }), '.tree-stage');
}

/** Takes a screenshot of a page in each theme, once the selector matches and the page has settled. */
async function take(
	name: string,
	open: (options: { readonly theme: 'dark' | 'light' }) => Promise<Webview>,
	selector: string,
): Promise<void> {
	for (const [kind, theme] of Object.entries(themes)) {
		const view = await open({ theme });
		const { page } = view;
		await view.setTheme(theme);
		await page.locator(selector).first().waitFor();
		await page.waitForTimeout(1000);
		const path = join(folder, `${name}-${kind}.png`);
		await page.screenshot({ path, animations: 'disabled' });
		await view.close();
		console.log(`${relative(root, path)}: ${Math.round(statSync(path).size / 1000)} kB`);
	}
}
