// @reaches dashboard
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Frame } from 'playwright-core';
import { formatLine } from '../../src/files/jsonLines.ts';
import { ownIdentity } from '../../src/processes/processIdentity.ts';
import { HostDriver } from '../e2e/hostDriver.ts';
import { inOrder, Laboratory } from '../e2e/laboratory.ts';
import { DashboardPage } from '../e2e/pages/dashboardPage.ts';
import { skip } from '../support/chromium.ts';
import { madeUpMetrics, writeMetricsRun } from '../unit/webview/dashboard/dashboardFixture.ts';

/*
 * Overhead of hidden dashboards: ten dashboards are behind another tab while one of their runs writes 20 steps per
 * second. CPU time and memory are measured for the browser's renderers, including the workbench's own.
 */

const dashboards = 10;
const stepsPerSecond = 20;
const measuredSeconds = 20;
/** Maximum additional load compared with no dashboards, as a percentage of one core. */
const maxHiddenPercent = 5;
/** Maximum memory per dashboard with 500 steps, in megabytes. */
const maxMegabytes = 25;

/** Work done by a page since the previous query. */
interface Work {
	readonly drawings: number;
	readonly changes: number;
}

async function countWork(frame: Frame): Promise<void> {
	await frame.evaluate(() => {
		const work = { drawings: 0, changes: 0 };
		Object.assign(window, { work });
		const { clearRect } = CanvasRenderingContext2D.prototype;
		CanvasRenderingContext2D.prototype.clearRect = function (...args) {
			work.drawings++;
			clearRect.apply(this, args);
		};
		new MutationObserver((records) => {
			work.changes += records.length;
		}).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
	});
}

const workOf = (frame: Frame): Promise<Work> =>
	frame.evaluate(() => {
		const { work } = window as unknown as { work: { drawings: number; changes: number } };
		const done = { ...work };
		work.drawings = 0;
		work.changes = 0;
		return done;
	});

test('dashboards behind another tab draw nothing and are up to date when shown', {
	skip,
	timeout: 900_000,
}, async (t) => {
	const driver = new HostDriver();
	t.after(() => driver.dispose());
	const lab = await Laboratory.open(t, 'hidden-tabs', { extensions: [driver.folder] });
	const runs = join(lab.workspace, 'runs');
	const names = Array.from({ length: dashboards }, (_, i) => `run-${i}`);
	for (const name of names) {
		await writeMetricsRun(join(runs, name), { sft: 100, grpo: 400, record: { name, id: name } });
	}
	const live = join(runs, 'run-0');
	const recordPath = join(live, 'run.json');
	const now = Date.now() / 1000;
	const alive = { status: 'running', created: now, updated: now, heartbeat: now + 3600, totalSteps: 100_000 };
	const record = JSON.parse(readFileSync(recordPath, 'utf8'));
	writeFileSync(recordPath, JSON.stringify({ ...record, ...(await ownIdentity()), ...alive }));
	lab.write('note.txt', 'Something else to read.\n');
	const workbench = await lab.workbench();
	const step = inOrder(t);
	const tools = await lab.browser.newBrowserCDPSession();
	const renderers = async () =>
		(await tools.send('SystemInfo.getProcessInfo')).processInfo.filter(({ type }) => type === 'renderer');
	const processorSeconds = async () => (await renderers()).reduce((sum, { cpuTime }) => sum + cpuTime, 0);
	const megabytes = async () =>
		(await renderers()).reduce((sum, { id }) => {
			const pages = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1];
			return sum + Number(pages ?? 0) / 1024;
		}, 0);
	/** Returns the renderers' CPU usage as a percentage of one core. */
	const percent = async () => {
		await workbench.page.waitForTimeout(3000);
		const [before, begin] = [await processorSeconds(), performance.now()];
		await workbench.page.waitForTimeout(measuredSeconds * 1000);
		return ((await processorSeconds()) - before) / ((performance.now() - begin) / 1e5);
	};
	const lines = [...madeUpMetrics({ sft: 100, grpo: 20_000 })].slice(500);
	let written = 0;
	const writing = setInterval(() => {
		const line = lines[written++];
		if (line) appendFileSync(join(live, 'metrics.jsonl'), formatLine({ ...line, ...line.values, values: undefined }));
	}, 1000 / stepsPerSecond);
	t.after(() => clearInterval(writing));
	const measured: Record<string, number> = {};
	let frame: Frame;

	await step('without a dashboard', async () => {
		await workbench.openFile('note.txt');
		measured['% without'] = await percent();
		measured['MB without'] = await megabytes();
	});
	await step('one dashboard in front of nine', async () => {
		for (const name of names.toReversed()) {
			await driver.run(
				(vscode, folder) => vscode.commands.executeCommand('reasoningLab.openDashboard', folder),
				join(runs, name),
			);
			frame = await workbench.app('dashboard');
			await frame.locator('canvas').first().waitFor();
		}
		await countWork(frame);
		await workOf(frame);
		measured['% in front'] = await percent();
		const { drawings, changes } = await workOf(frame);
		assert.ok(drawings > 100 && changes > 100, `${drawings} drawings, ${changes} changes`);
	});
	await step('all behind another tab', async () => {
		await workbench.openFile('note.txt');
		await workbench.page.waitForTimeout(1000);
		await workOf(frame);
		measured['% hidden'] = await percent();
		measured['MB hidden'] = await megabytes();
		assert.deepEqual(await workOf(frame), { drawings: 0, changes: 0 });
	});
	await step('in front again', async () => {
		const steps = 500 + written;
		await workbench.editorTab('run-0').click();
		const shown = new DashboardPage(await workbench.app('dashboard'));
		await workbench.page.waitForFunction(() => true);
		const [begin, late] = [performance.now(), 5000];
		while ((await shown.step().catch(() => 0)) < steps && performance.now() - begin < late) {
			await workbench.page.waitForTimeout(20);
		}
		measured['ms until it is up to date'] = performance.now() - begin;
		const { drawings } = await workOf(shown.frame);
		assert.ok(drawings > 0);
	});
	t.diagnostic(
		Object.entries(measured)
			.map(([name, value]) => `${name}: ${value.toFixed(1)}`)
			.join(', '),
	);
	const of = (name: string) => measured[name] as number;
	assert.ok(of('% hidden') - of('% without') <= maxHiddenPercent, `${of('% hidden')}% of a core`);
	const each = (of('MB hidden') - of('MB without')) / dashboards;
	assert.ok(each <= maxMegabytes, `${each.toFixed(1)} MB each`);
});
