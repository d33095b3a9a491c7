import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import type { DashboardAlert, DashboardAlerts } from '../../../../src/protocol/dashboardMessages.ts';
import { countAlerts, whenOf } from '../../../../webview/dashboard/alertOrder.ts';
import { explainMetric } from '../../../../webview/dashboard/explanations.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { looksRight } from '../webviewLooks.ts';
import { writeMetricsRun } from './dashboardFixture.ts';
import { type DashboardHarnessOptions, type DashboardView, openDashboard } from './dashboardHarness.ts';

const alert = (id: string, more: Partial<DashboardAlert> = {}): DashboardAlert => ({
	id,
	title: 'Dead groups',
	level: 'warning',
	message:
		'93% of the groups of the last 20 batches are dead: all completions got the same reward, so there is no gradient. In most of them, completions are truncated before they give an answer.',
	action: 'Raise the completion length limit.',
	step: 240,
	lastStep: 520,
	holds: true,
	dismissed: false,
	evidence: [
		{ step: 518, group: 3 },
		{ step: 517, group: 0, index: 5 },
	],
	recipe: { key: 'stages[1].max_completion_length', suggestion: '128 tokens instead of 64', applies: true },
	...more,
});

const some: readonly DashboardAlert[] = [
	alert('kl-blow-up', {
		title: 'KL blow-up',
		level: 'error',
		message: 'KL to the reference has blown up: 14 nats per token (median of 10 updates), up from 0.08.',
		action:
			'The policy is losing its original abilities. Go back to a checkpoint before this step, and use a lower learning rate or a higher beta.',
		step: 410,
		evidence: [],
		recipe: { key: 'stages[1].learning_rate', suggestion: '0.00001 instead of 0.0001', applies: false },
	}),
	alert('dead-groups:truncated'),
	alert('throughput-drop', {
		title: 'Throughput drop',
		level: 'info',
		message:
			'Throughput has dropped to 31% of its earlier level: 7400 tokens per second over 30 batches, down from 23900.',
		action: 'Look at completion length, at the time per phase, and at what else computes on the machine.',
		step: 300,
		lastStep: 360,
		holds: false,
		evidence: [],
		recipe: null,
	}),
];
const ready = (alerts: readonly DashboardAlert[]): DashboardAlerts => ({
	phase: 'ready',
	alerts: [...alerts],
	summary: alerts.some(({ holds, dismissed }) => holds && !dismissed)
		? {
				kind: 'alerts',
				text: 'Most likely cause: completions truncated (since step 240; 1 other alert ranks below it).',
			}
		: { kind: 'clear', text: 'No issues detected.' },
});

describe('alerts', () => {
	it('counts alerts that are not dismissed', () => {
		assert.deepEqual(countAlerts([...some, alert('x', { dismissed: true })]), {
			error: 1,
			warning: 1,
			info: 1,
			shown: 3,
			dismissed: 1,
		});
	});

	it('shows when it happened', () => {
		assert.equal(whenOf(alert('a')), 'steps 240 to 520, ongoing');
		assert.equal(whenOf(alert('a', { lastStep: 240, holds: false })), 'step 240, resolved');
	});
});

describe('the tooltip of a metric', () => {
	const facts = (name: string, format: string | null) =>
		Object.fromEntries(explainMetric(name, { format }).facts ?? []) as Record<string, string>;

	it('explains the healthy range and the meaning of changes', () => {
		const entropy = facts('entropy', null);
		assert.match(entropy.Healthy ?? '', /levels off/);
		assert.ok(entropy.Rising && entropy.Falling);
		assert.ok(!Object.keys(entropy).some((label) => label.startsWith('In ')));
	});

	it('shows the name in the trainer, and how its definition differs', () => {
		const kl = facts('kl', 'verl');
		assert.match(kl['In verl'] ?? '', /actor\/kl_loss/);
		assert.match(kl['Differs in verl'] ?? '', /loss_agg_mode/);
		assert.match(facts('reward_std', 'trl')['Differs in TRL'] ?? '', /entire batch/);
		assert.match(facts('critic/rewards/mean', 'verl')['Differs in verl'] ?? '', /KL penalty/);
	});
});

describe('dashboard alerts in a browser', { skip }, () => {
	let browser: Browser;
	let root: string;
	let runs = 0;
	before(async () => {
		browser = await launchChromium();
		root = await mkdtemp(join(tmpdir(), 'dashboard-alerts-'));
	});
	const opened: { close(): Promise<unknown> }[] = [];
	afterEach(async () => {
		for (const item of opened.splice(0).reverse()) await item.close();
	});
	after(async () => {
		await browser?.close();
		await rm(root, { recursive: true, force: true });
	});

	const open = async (options: DashboardHarnessOptions): Promise<DashboardView> => {
		const folder = join(root, `run${runs++}`);
		await writeMetricsRun(folder, { events: [] });
		const view = await openDashboard(browser, folder, options);
		opened.push(view);
		await view.page.locator('[data-chart="reward"] canvas').waitFor();
		return view;
	};

	it('are readable and accessible in every theme and width', async () => {
		const view = await open({ width: 1200, height: 900, alerts: ready(some) });
		await view.page.locator('.alert').nth(2).waitFor();
		await looksRight(view, 'alerts', [360]);
		assert.deepEqual(view.errors, []);
	});

	it('start with one sentence on the likely cause, and keep their order', async () => {
		const view = await open({ alerts: ready(some.toReversed()) });
		assert.match(await view.page.locator('.alerts-line').innerText(), /^Most likely cause: completions truncated/);
		const ids = () =>
			view.page.locator('.alert').evaluateAll((items) => items.map((item) => (item as HTMLElement).dataset.alert));
		assert.deepEqual(
			await ids(),
			some.toReversed().map(({ id }) => id),
		);
	});

	it('link to their rollouts and recipe line, and can be dismissed', async () => {
		const view = await open({ alerts: ready(some) });
		const dead = view.page.locator('[data-alert="dead-groups:truncated"]');
		await dead.getByText('step 517, group 0, completion 5').click();
		await dead.getByText('stages[1].max_completion_length').click();
		assert.equal(await view.page.getByText('Apply', { exact: true }).count(), 1);
		await dead.getByText('Apply', { exact: true }).click();
		await view.page.locator('[data-alert="throughput-drop"]').getByText('Show rollouts').click();
		await dead.locator('vscode-button').click();
		await view.page.waitForTimeout(50);
		assert.deepEqual(view.asked, [
			{ method: 'showEvidence', params: { id: 'dead-groups:truncated', item: 1 } },
			{ method: 'showRecipe', params: { id: 'dead-groups:truncated' } },
			{ method: 'applyAdvice', params: { id: 'dead-groups:truncated' } },
			{ method: 'showEvidence', params: { id: 'throughput-drop', item: null } },
			{ method: 'dismissAlert', params: { id: 'dead-groups:truncated', dismissed: true } },
		]);
	});

	it('can be navigated by keyboard; Delete dismisses one and moves the focus to the next', async () => {
		const view = await open({ alerts: ready(some) });
		const { page } = view;
		await page.locator('.alerts .group-button').focus();
		await page.keyboard.press('Tab');
		const focused = () => page.evaluate(() => document.activeElement?.closest<HTMLElement>('.alert')?.dataset.alert);
		assert.equal(await focused(), 'kl-blow-up');
		await page.keyboard.press('ArrowDown');
		assert.equal(await focused(), 'dead-groups:truncated');
		await page.keyboard.press('Delete');
		await page.waitForTimeout(30);
		assert.deepEqual(view.asked, [
			{ method: 'dismissAlert', params: { id: 'dead-groups:truncated', dismissed: true } },
		]);
		view.session.setAlerts(
			ready(some.map((one) => (one.id === 'dead-groups:truncated' ? { ...one, dismissed: true } : one))),
		);
		await page.getByText('Show 1 dismissed').waitFor();
		assert.equal(await focused(), 'throughput-drop');
		await page.getByText('Show 1 dismissed').click();
		await page.locator('.alert-dismissed vscode-button').click();
		await page.waitForTimeout(30);
		assert.deepEqual(view.asked.at(-1), {
			method: 'dismissAlert',
			params: { id: 'dead-groups:truncated', dismissed: false },
		});
	});

	it('are a single line if there are none, while loading, and when disabled', async () => {
		const view = await open({ alerts: { phase: 'reading', alerts: [], summary: null } });
		const line = view.page.locator('.alerts-line');
		assert.match(await line.innerText(), /Diagnosing the run/);
		view.session.setAlerts(ready([]));
		await view.page.getByText('No issues detected.').waitFor();
		assert.deepEqual(await view.violations(), []);
		const short = 'Too few batches to diagnose (6 of 20).';
		view.session.setAlerts({ phase: 'ready', alerts: [], summary: { kind: 'short', text: short } });
		await view.page.getByText(short).waitFor();
		assert.equal(await view.page.getByText('No issues detected').count(), 0);
		view.session.setAlerts({ phase: 'off', alerts: [], summary: null });
		await view.page.getByText('Open Setting').click();
		await view.page.waitForTimeout(30);
		assert.deepEqual(view.asked, [{ method: 'openDiagnosisSetting', params: {} }]);
		assert.match(await line.innerText(), /turned off/);
	});

	it('stay collapsed, and survive a reload', async () => {
		const view = await open({ alerts: ready(some) });
		await view.page.locator('.alerts .group-button').click();
		assert.ok(await view.page.locator('.alerts-list').isHidden());
		const state = await view.state();
		const again = await open({ alerts: ready(some), state });
		assert.ok(await again.page.locator('.alerts-list').isHidden());
		assert.equal(await again.page.locator('.alerts-count').count(), 3);
	});

	it('are marked on the charts unless dismissed', async () => {
		const pixels = (view: DashboardView) =>
			view.page.evaluate(() => {
				const canvas = document.querySelector<HTMLCanvasElement>('[data-chart="entropy"] canvas');
				const context = canvas?.getContext('2d');
				if (!canvas || !context) return '';
				return [...context.getImageData(0, 0, canvas.width, canvas.height).data].join();
			});
		const draw = async (alerts: DashboardAlerts) => {
			const view = await open({ alerts });
			await view.page.locator('[data-chart="entropy"]').scrollIntoViewIfNeeded();
			await view.page.locator('[data-chart="entropy"] canvas').waitFor();
			await view.page.waitForTimeout(200);
			return pixels(view);
		};
		const without = await draw(ready([]));
		assert.notEqual(await draw(ready([alert('a', { step: 300 })])), without);
		assert.equal(await draw(ready([alert('a', { step: 300, dismissed: true })])), without);
	});

	it('show untrusted names as plain text', async () => {
		const nasty = '<img src=x onerror=alert(1)>\u202e[x](command:y)';
		const view = await open({ alerts: ready([alert('x', { title: nasty, message: nasty, action: nasty })]) });
		assert.equal(await view.page.locator('.alert img').count(), 0);
		assert.ok((await view.page.locator('.alert').innerText()).includes('<img src=x'));
		assert.deepEqual(view.errors, []);
	});
});
