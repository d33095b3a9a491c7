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
import { soon } from '../lateness.ts';
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

	it('shows when an alert happened', () => {
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

	it('shows the name that the trainer uses, and how the definition differs', () => {
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
	/** View shared by most tests. Each test sets the alerts to display through the panel's session. */
	let view: DashboardView;
	const opened: { close(): Promise<unknown> }[] = [];
	const open = async (options: DashboardHarnessOptions): Promise<DashboardView> => {
		const another = await openDashboard(browser, join(root, 'run'), options);
		opened.push(another);
		await another.page.locator('[data-chart="reward"] canvas').waitFor();
		return another;
	};
	before(async () => {
		browser = await launchChromium();
		root = await mkdtemp(join(tmpdir(), 'dashboard-alerts-'));
		await writeMetricsRun(join(root, 'run'), { events: [] });
		view = await open({ width: 1200, height: 900, alerts: { phase: 'reading', alerts: [], summary: null } });
	});
	afterEach(() => {
		assert.deepEqual([view.errors, view.faults], [[], []]);
		view.asked.length = 0;
	});
	after(async () => {
		for (const item of opened.reverse()) await item.close();
		await browser?.close();
		await rm(root, { recursive: true, force: true });
	});

	const ids = () =>
		view.page
			.locator('.alert:not(.alert-dismissed)')
			.evaluateAll((items) => items.map((item) => (item as HTMLElement).dataset.alert));
	/** Shows these alerts instead of the current ones. */
	const show = async (alerts: readonly DashboardAlert[]): Promise<void> => {
		view.session.setAlerts(ready(alerts));
		const shown = alerts.filter(({ dismissed }) => !dismissed).map(({ id }) => id);
		await view.page.waitForFunction(
			([ids, line]) =>
				[...document.querySelectorAll<HTMLElement>('.alert:not(.alert-dismissed)')]
					.map((item) => item.dataset.alert)
					.join() === ids && document.querySelector('.alerts-line')?.textContent === line,
			[shown.join(), ready(alerts).summary?.text] as const,
		);
	};
	const asked = async (count: number) => {
		await soon(() => assert.ok(view.asked.length >= count));
		return view.asked;
	};

	it('are a single line if there are none, while loading, and when disabled', async () => {
		const line = view.page.locator('.alerts-line');
		assert.match(await line.innerText(), /Diagnosing the run/);
		view.session.setAlerts(ready([]));
		await view.page.getByText('No issues detected.').waitFor();
		assert.deepEqual(await view.violations('names'), []);
		const short = 'Too few batches to diagnose (6 of 20).';
		view.session.setAlerts({ phase: 'ready', alerts: [], summary: { kind: 'short', text: short } });
		await view.page.getByText(short).waitFor();
		assert.equal(await view.page.getByText('No issues detected').count(), 0);
		view.session.setAlerts({ phase: 'off', alerts: [], summary: null });
		await view.page.getByText('Open Setting').click();
		assert.deepEqual(await asked(1), [{ method: 'openDiagnosisSetting', params: {} }]);
		assert.match(await line.innerText(), /turned off/);
	});

	it('are readable and accessible in every theme and width', async () => {
		await show(some);
		await view.page.locator('.alert').nth(2).waitFor();
		await looksRight(view, 'alerts', [360]);
	});

	it('start with one sentence on the likely cause, and keep their order', async () => {
		await show(some.toReversed());
		assert.match(await view.page.locator('.alerts-line').innerText(), /^Most likely cause: completions truncated/);
		assert.deepEqual(
			await ids(),
			some.toReversed().map(({ id }) => id),
		);
	});

	it('link to their rollouts and recipe line, and can be dismissed', async () => {
		await show(some);
		const dead = view.page.locator('[data-alert="dead-groups:truncated"]');
		await dead.getByText('step 517, group 0, completion 5').click();
		await dead.getByText('stages[1].max_completion_length').click();
		assert.equal(await view.page.getByText('Apply', { exact: true }).count(), 1);
		await dead.getByText('Apply', { exact: true }).click();
		await view.page.locator('[data-alert="throughput-drop"]').getByText('Show rollouts').click();
		await dead.locator('vscode-button').click();
		assert.deepEqual(await asked(5), [
			{ method: 'showEvidence', params: { id: 'dead-groups:truncated', item: 1 } },
			{ method: 'showRecipe', params: { id: 'dead-groups:truncated' } },
			{ method: 'applyAdvice', params: { id: 'dead-groups:truncated' } },
			{ method: 'showEvidence', params: { id: 'throughput-drop', item: null } },
			{ method: 'dismissAlert', params: { id: 'dead-groups:truncated', dismissed: true } },
		]);
	});

	it('can be navigated by keyboard; Delete dismisses one and moves the focus to the next', async () => {
		await show(some);
		const { page } = view;
		await page.locator('.alerts .group-button').focus();
		await page.keyboard.press('Tab');
		const focused = () => page.evaluate(() => document.activeElement?.closest<HTMLElement>('.alert')?.dataset.alert);
		assert.equal(await focused(), 'kl-blow-up');
		await page.keyboard.press('ArrowDown');
		assert.equal(await focused(), 'dead-groups:truncated');
		await page.keyboard.press('Delete');
		assert.deepEqual(await asked(1), [
			{ method: 'dismissAlert', params: { id: 'dead-groups:truncated', dismissed: true } },
		]);
		view.session.setAlerts(
			ready(some.map((one) => (one.id === 'dead-groups:truncated' ? { ...one, dismissed: true } : one))),
		);
		await page.getByText('Show 1 dismissed').waitFor();
		assert.equal(await focused(), 'throughput-drop');
		await page.getByText('Show 1 dismissed').click();
		await page.locator('.alert-dismissed vscode-button').click();
		assert.deepEqual((await asked(2)).at(-1), {
			method: 'dismissAlert',
			params: { id: 'dead-groups:truncated', dismissed: false },
		});
	});

	it('are marked on the charts unless dismissed', async () => {
		const { page } = view;
		const pixels = () =>
			page.evaluate(() => {
				const canvas = document.querySelector<HTMLCanvasElement>('[data-chart="entropy"] canvas');
				const context = canvas?.getContext('2d');
				if (!canvas || !context) return '';
				return [...context.getImageData(0, 0, canvas.width, canvas.height).data].join();
			});
		/** Resolves with the picture once it is no longer `before`, or with the last one after ten seconds. */
		const changed = async (before: string) => {
			let now = await pixels();
			for (let i = 0; i < 200 && now === before; i++) {
				await page.waitForTimeout(50);
				now = await pixels();
			}
			return now;
		};
		await page.locator('[data-chart="entropy"]').scrollIntoViewIfNeeded();
		await page.locator('[data-chart="entropy"] canvas').waitFor();
		const with3 = await pixels();
		await show([]);
		const without = await changed(with3);
		await show([alert('a', { step: 300 })]);
		const marked = await changed(without);
		assert.notEqual(marked, without);
		await show([alert('a', { step: 300, dismissed: true })]);
		assert.equal(await changed(marked), without);
	});

	it('show untrusted names as plain text', async () => {
		const nasty = '<img src=x onerror=alert(1)>\u202e[x](command:y)';
		view.session.setAlerts(ready([alert('x', { title: nasty, message: nasty, action: nasty })]));
		await view.page.locator('.alert', { hasText: '<img src=x' }).waitFor();
		assert.equal(await view.page.locator('.alert img').count(), 0);
		assert.ok((await view.page.locator('.alert').innerText()).includes('<img src=x'));
	});

	it('stay collapsed, and survive a reload', async () => {
		await show(some);
		await view.page.locator('.alerts .group-button').click();
		assert.ok(await view.page.locator('.alerts-list').isHidden());
		const state = await view.state();
		const again = await open({ alerts: ready(some), state });
		assert.ok(await again.page.locator('.alerts-list').isHidden());
		assert.equal(await again.page.locator('.alerts-count').count(), 3);
		assert.deepEqual(again.errors, []);
	});
});
