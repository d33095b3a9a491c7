// @reaches cli
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cache, node, root } from '../scripts/paths.ts';
import { sharedCache } from '../scripts/sharedCache.ts';
import { skip } from '../support/chromium.ts';
import { inOrder, isAlive, Laboratory, recordOf, waitUntil } from './laboratory.ts';
import { DashboardPage } from './pages/dashboardPage.ts';
import { slowReward } from './smallRecipe.ts';

/** The demo's own recipe with a small model, few steps and a reward that takes a tenth of a second. */
const changes = [
	...['stages.0.steps=30', 'stages.1.steps=2000', 'evaluate.problems=16', 'workers=1'],
	...['model.layers=2', 'model.width=32', 'rewards.1={ "file": "slow.reward.ts", "name": "slow" }'],
];

test('npm run demo prints an address where its run can be watched', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'demo', { serve: false });
	const step = inOrder(t);
	const folder = join(lab.workspace, 'demo');
	mkdirSync(folder);
	writeFileSync(join(folder, 'slow.reward.ts'), slowReward);
	let demo: ChildProcess | undefined;
	let output = '';
	const home = join(cache, `demo-workbench-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`);
	t.after(() => {
		demo?.kill('SIGKILL');
		rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
	});

	await step('the demo starts the run, and a workbench that asks for a login', async () => {
		const set = changes.flatMap((change) => ['--set', change]);
		demo = spawn(node, [join(root, 'test/scripts/demo.ts'), folder, '--browser', '--no-open', ...set], {
			// Use the shared cache because a separate cache folder would download its own workbench.
			env: { ...process.env, ...lab.server.environment, REASONING_LAB_TEST_CACHE: sharedCache() },
			stdio: ['ignore', 'pipe', 'inherit'],
		});
		demo.stdout?.setEncoding('utf8').on('data', (text: string) => {
			output += text;
		});
		await waitUntil(() => /password/.test(output), `the address is printed (${output})`, 180);
		assert.ok(existsSync(join(folder, '.gitignore')));
		const origin = /http:\/\/127\.0\.0\.1:\d+(?= with the password)/.exec(output)?.[0] ?? '';
		const answer = await fetch(origin, { redirect: 'manual' });
		assert.match(answer.headers.get('location') ?? '', /login/);
	});

	await step('the printed address logs in and shows the dashboard of the run', async () => {
		const workbench = await lab.foreignWorkbench(/Open: +(\S+)/.exec(output)?.[1] ?? '');
		const page = new DashboardPage(await workbench.app('dashboard'));
		await page.status(/running/);
		await page.frame.getByText('grpo', { exact: true }).first().waitFor();
		await workbench.screenshot('demo');
	});

	await step('the workbench has the TypeScript language server, which the first TypeScript file starts', () => {
		const settings = readFileSync(join(home, 'data/User/settings.json'), 'utf8');
		const { 'typescript.tsdk': tsdk } = JSON.parse(settings) as Record<string, string>;
		assert.ok(existsSync(join(tsdk ?? '', 'tsserver.js')), tsdk);
		return Promise.resolve();
	});

	await step('the run outlives the workbench', async () => {
		const run = /Run: +(\S+)/.exec(output)?.[1] ?? '';
		const { pid } = recordOf(run);
		demo?.kill('SIGINT');
		await waitUntil(() => demo?.exitCode !== null, 'the demo exits');
		assert.equal(demo?.exitCode, 0);
		assert.ok(isAlive(pid));
		assert.equal((await lab.cli('stop', run)).code, 0);
		await waitUntil(() => !isAlive(pid), 'the engine exits');
	});
});
