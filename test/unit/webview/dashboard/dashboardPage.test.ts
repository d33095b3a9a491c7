import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { Failure } from '../../../../src/base/failure.ts';
import { formatLine } from '../../../../src/files/jsonLines.ts';
import { ownIdentity } from '../../../../src/processes/processIdentity.ts';
import { runFiles } from '../../../../src/runs/runFiles.ts';
import { RunWriter } from '../../../../src/runs/runWriter.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { initialRecord } from '../../runs/runFixtures.ts';
import { soon } from '../lateness.ts';
import { eachOtherTheme, fitsWidth, looksRight, looksRightNow } from '../webviewLooks.ts';
import { complete } from '../webviewPage.ts';
import { madeUpMetrics, type WrittenRun, writeMetricsRun } from './dashboardFixture.ts';
import { type DashboardHarnessOptions, type DashboardView, openDashboard } from './dashboardHarness.ts';

describe('the dashboard in a browser', { skip }, () => {
	let browser: Browser;
	let root: string;
	let runs = 0;
	before(async () => {
		browser = await launchChromium();
		root = await mkdtemp(join(tmpdir(), 'dashboard-page-'));
	});
	/** Views to close even if a test fails, because their timers would keep the process alive. */
	const opened: { close(): Promise<unknown> }[] = [];
	const open = async (folder: string, options: DashboardHarnessOptions = {}): Promise<DashboardView> => {
		const view = await openDashboard(browser, folder, options);
		opened.push(view);
		return view;
	};
	afterEach(async () => {
		for (const item of opened.splice(0).reverse()) await item.close();
	});
	after(async () => {
		await browser?.close();
		await rm(root, { recursive: true, force: true });
	});

	const withRun = async (
		run: WrittenRun,
		options: DashboardHarnessOptions,
		look: (view: DashboardView) => Promise<void>,
	): Promise<void> => {
		const folder = join(root, `run${runs++}`);
		await writeMetricsRun(folder, run);
		const view = await open(folder, options);
		await look(view);
		assert.deepEqual(view.errors, []);
		assert.deepEqual(view.faults, []);
	};

	/** Waits until a chart is drawn on its canvas. */
	const drawn = async (view: DashboardView, chart = 'reward'): Promise<void> => {
		// Charts outside the viewport are not drawn.
		await view.page.locator(`[data-chart="${chart}"]`).scrollIntoViewIfNeeded();
		await view.page.locator(`[data-chart="${chart}"] canvas`).waitFor();
	};
	const following = (view: DashboardView, expected: boolean) =>
		view.page.waitForSelector(`vscode-checkbox[aria-checked="${expected}"]`);
	/** Returns the fraction of canvas pixels that differ from the background. */
	const ink = (view: DashboardView, chart: string) =>
		view.page.evaluate((id) => {
			const canvas = document.querySelector<HTMLCanvasElement>(`[data-chart="${id}"] canvas`);
			const context = canvas?.getContext('2d');
			if (!canvas || !context) return 0;
			const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
			let painted = 0;
			for (let i = 3; i < data.length; i += 4) if ((data[i] as number) > 40) painted++;
			return painted / (data.length / 4);
		}, chart);
	/** Waits up to 30 seconds for messages from a page; after that, the next assertion explains what is missing. */
	const until = async (holds: () => boolean) => {
		for (const end = Date.now() + 30_000; !holds() && Date.now() < end; ) {
			await new Promise((resolve) => setTimeout(resolve, 10));
		}
	};
	const text = (view: DashboardView, selector: string) => view.page.locator(selector).first().innerText();
	/** Waits for the values in the visible range, or at the cursor; on timeout, fails with the actual text. */
	const readout = async (view: DashboardView, expected: string) => {
		const { page } = view;
		await page
			.waitForFunction((text) => document.querySelector('.readout')?.textContent === text, expected)
			.catch(async (error: Error) => {
				const stage = await page.locator('.stage-choice').evaluate((node) => (node as HTMLSelectElement).value);
				const shown = `"${await text(view, '.readout')}", stage ${stage}, toolbar ${await text(view, '.toolbar')}`;
				throw new Error(`Expected "${expected}", found ${shown}`, { cause: error });
			});
	};

	it('has no accessibility violations in any theme and width, and uses many columns in a wide window', async () => {
		await withRun({}, { width: 1000, height: 900 }, async (view) => {
			await drawn(view);
			assert.ok((await ink(view, 'reward')) > 0.01);
			await looksRight(view, 'dashboard', [320]);
			await eachOtherTheme(view, async (theme) => {
				await drawn(view);
				assert.ok((await ink(view, 'reward')) > 0.01, theme);
			});
			await view.page.locator('[data-chart="reward"] vscode-button').nth(2).click();
			await view.page.locator('[data-chart="reward"] .about').focus();
			await view.page.waitForSelector('.tooltip:popover-open');
			await looksRight(view, 'dashboard-tooltip');
			await view.page.setViewportSize({ width: 2200, height: 900 });
			await drawn(view, 'loss');
			// The grid gets its number of columns once its new width is observed.
			await view.page.waitForFunction(
				() => getComputedStyle(document.querySelector('.grid') as Element).gridTemplateColumns.split(' ').length >= 5,
			);
			await view.page.waitForFunction(() => {
				const plot = document.querySelector('[data-chart="loss"] .plot');
				const canvas = plot?.querySelector('canvas');
				return canvas && Math.abs(canvas.clientWidth - (plot?.clientWidth ?? 0)) < 2;
			});
		});
	});

	it('shows the pinned charts of the workspace first, and pins others', async () => {
		const pinned = [
			{ x: null, y: 'loss' },
			{ x: 'loss', y: 'reward' },
			{ x: null, y: 'unknown' },
		];
		await withRun({}, { width: 1000, height: 900, pinned }, async (view) => {
			const { page, pins } = view;
			const first = page.locator('.group').first();
			await first.locator('[data-chart="loss"]').waitFor();
			assert.match(await first.innerText(), /^\s*Pinned charts/);
			assert.equal(await page.locator('[data-chart="loss"]').count(), 1);
			await looksRightNow(view, 'dashboard-pinned');
			await page.getByRole('button', { name: 'Pin: Reward', exact: true }).click();
			await first.locator('[data-chart="reward"]').waitFor();
			await page.getByRole('button', { name: 'Pin: Loss', exact: true }).click();
			await page.locator('[data-group="optimizer"] [data-chart="loss"]').waitFor();
			assert.deepEqual(pins, [
				{ chart: { x: null, y: 'reward' }, pinned: true },
				{ chart: { x: null, y: 'loss' }, pinned: false },
			]);
		});
	});

	it('draws charts of one metric against another for the steps in view, pinned for the workspace', async () => {
		const pinned = [
			{ x: 'loss', y: 'reward' },
			{ x: 'loss', y: 'unknown' },
		];
		await withRun({}, { width: 1000, height: 900, pinned }, async (view) => {
			const { page, pins } = view;
			const chart = (pair: string) => page.locator(`[data-group="pinned"] [data-pair="${pair}"] svg[role="img"]`);
			const described = async (pair: string) => (await chart(pair).getAttribute('aria-label')) ?? '';
			assert.match(await described('loss|reward'), /^Scatter plot of Reward by Loss: \d+ points in 1 series$/);
			assert.match(await chart('loss|reward').locator('title').first().innerHTML(), /^Reward .*, Loss .*, step \d+$/);
			await page.getByRole('button', { name: 'New Chart' }).click();
			await page.getByLabel('New chart: y axis').selectOption('reward_std');
			await page.getByLabel('New chart: x axis').selectOption('entropy');
			await looksRightNow(view, 'dashboard-new-chart');
			await page.getByRole('button', { name: 'Pin Chart' }).click();
			await chart('entropy|reward_std').waitFor();
			assert.equal(await page.locator('[data-pair]').count(), 2, 'a chart whose metrics the run lacks is not shown');
			const before = await described('loss|reward');
			await drawn(view, 'loss');
			await page.locator('[data-chart="loss"] .plot').focus();
			await page.keyboard.press('+');
			await soon(async () => assert.notEqual(await described('loss|reward'), before));
			await page.getByRole('textbox', { name: 'Filter charts' }).fill('std by entropy');
			await soon(async () => assert.equal(await page.locator('.card:visible').count(), 1));
			await page.getByRole('textbox', { name: 'Filter charts' }).fill('no such metric');
			await page.locator('.no-match:visible').waitFor();
			await page.getByRole('textbox', { name: 'Filter charts' }).fill('');
			await page.locator('[data-pair="loss|reward"]').getByRole('button', { name: 'Unpin: Reward by Loss' }).click();
			await page.locator('[data-pair="loss|reward"]').waitFor({ state: 'detached' });
			assert.deepEqual(pins, [
				{ chart: { x: 'entropy', y: 'reward_std' }, pinned: true },
				{ chart: { x: 'loss', y: 'reward' }, pinned: false },
			]);
		});
	});

	it('shows a run that has ended', async (t) => {
		const folder = join(root, 'ended');
		await writeMetricsRun(folder);
		const device = { provider: 'webgpu', error: 'no driver' };
		const event = { time: 1, step: 0, type: 'device', took: 'cpu', tried: [device] };
		await appendFile(join(folder, runFiles.events), formatLine(event));
		// Not added to `opened`, whose views are closed after each subtest.
		const view = await openDashboard(browser, folder);
		t.after(() => view.close());
		const { page, session } = view;

		await t.test(
			'pins the step and highlights the metric of a link, both before and after the session has started',
			async () => {
				session.show({ step: 220, metric: 'clip_ratio/high_mean' });
				await page.locator('.card.cited[data-chart]').waitFor();
				await page.getByRole('button', { name: 'Open Rollouts at Step 220', exact: true }).waitFor();
				const cited = () => page.locator('.card.cited h3').allInnerTexts();
				assert.deepEqual(await cited(), ['Clip ratios']);
				session.show({ step: null, metric: 'reward' });
				await page.locator('.card.cited[data-chart="reward"]').waitFor();
				assert.deepEqual((await cited()).length, 1);
				session.show({ step: 230, metric: 'no such metric' });
				await page.getByRole('button', { name: 'Open Rollouts at Step 230', exact: true }).waitFor();
				assert.deepEqual((await cited()).length, 1);
				await page.getByRole('button', { name: 'Unpin step' }).click();
			},
		);

		await t.test('shows the run and its progress in the header', async () => {
			await drawn(view);
			assert.equal(await text(view, '.run-name'), 'addition');
			assert.match(await text(view, '.status'), /finished/);
			const facts = await text(view, '.facts');
			for (const part of ['grpo', '520 / 520', '4 min', 'cpu (2 workers)', '85'])
				assert.ok(facts.includes(part), facts);
			assert.match(await text(view, '.hero'), /Held-out accuracy\s*[\d.]+% → 8\d\.\d%\s*95% interval/);
			await page.locator('.hero').getByRole('button', { name: 'Compare Runs...' }).click();
			await until(() => view.next.length > 0);
			assert.deepEqual(view.next, ['compare']);
		});

		await t.test(
			'links the cursors of all charts, by pointer and keyboard, and opens the rollouts for the step',
			async () => {
				await drawn(view);
				await page.locator('[data-chart="reward"] .u-over').hover({ position: { x: 120, y: 40 } });
				await page.waitForFunction(() => /^step \d+ /.test(document.querySelector('.readout')?.textContent ?? ''));
				const step = Number(/^step (\d+)/.exec(await text(view, '.readout'))?.[1]);
				const row = [...madeUpMetrics()].find((line) => line.step === step);
				const dead = await text(view, '[data-chart="frac_reward_zero_std"] .value');
				assert.equal(dead, `${((row?.values.frac_reward_zero_std ?? Number.NaN) * 100).toFixed(1)}%`);
				const plot = page.locator('[data-chart="reward"] .plot');
				await plot.focus();
				await page.keyboard.press('ArrowRight');
				await page.waitForFunction(
					(next) => document.querySelector('.readout')?.textContent?.startsWith(next),
					`step ${step + 1} `,
				);
				assert.match(
					(await plot.getAttribute('aria-valuetext')) ?? '',
					new RegExp(`^step ${step + 1}: Reward [0-9.]+$`),
				);
				await page.keyboard.press('Enter');
				await until(() => view.rollouts.length > 0);
				assert.deepEqual(view.rollouts, [null], 'this run has no rollouts');
			},
		);

		await t.test('zooms by dragging and by keyboard, and resets', async () => {
			await drawn(view);
			const over = page.locator('[data-chart="reward"] .u-over');
			const box = await over.boundingBox();
			assert.ok(box);
			await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
			await page.mouse.down();
			await page.mouse.move(box.x + box.width * 0.75, box.y + 50, { steps: 5 });
			await page.mouse.up();
			await page.mouse.move(2, 2);
			await page.waitForFunction(() => document.querySelector('.readout')?.textContent?.includes('\u2013'));
			const [low, high] = (await text(view, '.readout')).split(' \u2013 ').map(Number) as [number, number];
			assert.ok(Math.abs(low - 130) < 15 && Math.abs(high - 390) < 15, `${low} ${high}`);
			await following(view, false);
			await page.locator('[data-chart="loss"] .plot').focus();
			await page.keyboard.press('0');
			await readout(view, '');
			await following(view, true);
			await page.keyboard.press('+');
			await page.waitForFunction(() => document.querySelector('.readout')?.textContent?.includes('\u2013'));
			await over.dblclick({ position: { x: 50, y: 50 } });
			await page.mouse.move(2, 2);
			await readout(view, '');
		});

		await t.test('zooms and pans with the wheel and a modifier key; without one it scrolls the page', async () => {
			await drawn(view);
			await page.locator('[data-chart="reward"] .u-over').hover({ position: { x: 150, y: 50 } });
			await page.keyboard.down('Control');
			await page.mouse.wheel(0, -400);
			await page.keyboard.up('Control');
			const range = async () => {
				await page.locator('.run-name').hover();
				await page.waitForFunction(() => document.querySelector('.readout')?.textContent?.includes('\u2013'));
				return (await text(view, '.readout')).split(' \u2013 ').map(Number) as [number, number];
			};
			const [low, high] = await range();
			assert.ok(high - low > 240 && high - low < 280, `${low} ${high}`);
			await page.locator('[data-chart="reward"] .u-over').hover({ position: { x: 150, y: 50 } });
			await page.mouse.wheel(60, 0);
			const [lowAfter, highAfter] = await range();
			assert.ok(lowAfter > low + 20 && Math.abs(highAfter - lowAfter - (high - low)) <= 1, `${lowAfter} ${highAfter}`);
			await page.locator('[data-chart="reward"] .u-over').hover({ position: { x: 150, y: 50 } });
			await page.mouse.wheel(0, 300);
			await page.waitForFunction(() => window.scrollY > 100 || document.scrollingElement?.scrollTop);
			assert.deepEqual(await range(), [lowAfter, highAfter]);
		});

		await t.test('shows one stage, then all of them again', async () => {
			await drawn(view);
			await page.locator('.stage-choice').click();
			await page.locator('.stage-choice vscode-option[value="1"]').click();
			await readout(view, '121 \u2013 520');
			await following(view, true);
			await page.locator('.stage-choice').click();
			await page.locator('.stage-choice vscode-option[value="0"]').click();
			await readout(view, '1 \u2013 120');
			await following(view, false);
			await page.locator('.toolbar vscode-button[aria-label="Show all"]').click();
			await readout(view, '');
			assert.equal(await page.locator('.stage-choice').evaluate((node) => (node as HTMLSelectElement).value), 'all');
		});

		await t.test('explains a number on hover and focus, and hides the tooltip on Escape', async () => {
			await drawn(view, 'loss');
			await page.locator('[data-chart="loss"] .about').focus();
			await page.waitForSelector('.tooltip:popover-open');
			const loss = await text(view, '.tooltip');
			assert.match(loss, /dapo/);
			assert.match(loss, /weighted by completion length/);
			await page.keyboard.press('Escape');
			await page.waitForSelector('.tooltip:popover-open', { state: 'detached' });
			await page.locator('.fact', { hasText: 'Reward' }).hover();
			await page.waitForSelector('.tooltip:popover-open');
			assert.match(await text(view, '.tooltip'), /weighted sum/i);
		});

		await t.test('shows why a device was not used', async () => {
			await drawn(view, 'loss');
			await page.locator('.fact', { hasText: 'Device' }).hover();
			await page.locator('.tooltip:popover-open', { hasText: 'webgpu was not used: no driver.' }).waitFor();
		});

		await t.test('provides each chart as a table, with the latest rows accessible', async () => {
			await drawn(view);
			await page.locator('[data-chart="accuracy"] vscode-button[aria-label^="Table"]').click();
			const table = page.locator('[data-chart="accuracy"] [role="table"]');
			await table.waitFor();
			assert.equal(await table.getAttribute('aria-rowcount'), '27');
			assert.match(await table.innerText(), /Held-out accuracy[\s\S]*5\.\d%/);
			assert.deepEqual(await view.violations('names'), []);
		});

		await t.test('saves a chart image and its numbers', async () => {
			await drawn(view);
			await page.locator('[data-chart="reward"] vscode-button[aria-label$="as PNG"]').click();
			await page.locator('[data-chart="reward"] vscode-button[aria-label$="as CSV"]').click();
			await page.locator('.toolbar vscode-button[aria-label$="as CSV"]').click();
			await until(() => view.saved.length >= 3);
			assert.deepEqual(view.saved.map(({ name }) => name).sort(), [
				'addition-Reward.csv',
				'addition-Reward.png',
				'addition-metrics.csv',
			]);
			const file = (name: string) => Buffer.from(view.saved.find((saved) => saved.name === name)?.bytes ?? []);
			const png = file('addition-Reward.png');
			assert.deepEqual([...png.subarray(1, 4)].map((code) => String.fromCharCode(code)).join(''), 'PNG');
			assert.ok(png.readUInt32BE(16) > 200 && png.readUInt32BE(20) > 200, 'width and height');
			const rows = file('addition-Reward.csv').toString().trim().split('\r\n');
			assert.equal(rows[0], 'step,time,stage,reward,reward_std');
			assert.equal(rows.length, 401);
			const all = file('addition-metrics.csv').toString().trim().split('\r\n');
			assert.equal(all.length, 521);
		});

		await t.test('filters charts by text and reports when none match', async () => {
			await drawn(view);
			await page.keyboard.press('/');
			await page.keyboard.type('clip');
			await page.waitForFunction(() => document.querySelectorAll('.card').length > 0);
			assert.deepEqual(await page.locator('.card h3').allInnerTexts(), ['Clip ratios', 'Truncated completions']);
			await page.keyboard.type('zzz');
			await page.locator('.no-match').waitFor();
			assert.equal(await page.locator('.card').count(), 0);
		});
		assert.deepEqual([view.errors, view.faults], [[], []]);
	});

	it('shows a single peak among three thousand rows, and gaps where there are no values', async () => {
		const rows = 3000;
		const extra = (step: number) => ({
			spike: step === 2000 ? 1 : 0.1 * Math.sin(step),
			holed: step > 1200 && step < 1800 ? null : Math.sin(step),
			rare: step > 900 && step < 2100 ? null : Math.sin(step),
		});
		await withRun({ sft: 0, grpo: rows, extra }, {}, async (view) => {
			await view.page.waitForFunction(() => document.querySelector('.groups')?.getAttribute('aria-busy') === 'false');
			/** Returns the fractions of the height painted in the line color, in columns at fractions of the width. */
			const painted = (chart: string, at: readonly number[]) =>
				view.page.evaluate(
					([id, places]) => {
						const plot = document.querySelector(`[data-chart="${id}"] .plot`);
						const canvas = plot?.querySelector('canvas') as HTMLCanvasElement;
						const over = plot?.querySelector('.u-over') as HTMLElement;
						const context = canvas.getContext('2d') as CanvasRenderingContext2D;
						const scale = canvas.width / canvas.clientWidth;
						return (places as number[]).map((place) => {
							const left = (over.offsetLeft + over.clientWidth * place) * scale;
							const { data } = context.getImageData(left - 2, over.offsetTop * scale, 5, over.clientHeight * scale);
							let rows = 0;
							for (let i = 0; i < data.length; i += 20) {
								const row = [0, 4, 8, 12, 16].map((at) => {
									const [r, g, b] = [data[i + at] ?? 0, data[i + at + 1] ?? 0, data[i + at + 2] ?? 0];
									return Math.max(r, g, b) - Math.min(r, g, b);
								});
								if (Math.max(...row) > 60) rows++;
							}
							return rows / (over.clientHeight * scale);
						});
					},
					[chart, at] as const,
				);
			const id = (metric: string) =>
				view.page.evaluate(
					(name) =>
						[...document.querySelectorAll<HTMLElement>('[data-chart]')].find((card) => card.textContent?.includes(name))
							?.dataset.chart ?? '',
					metric,
				);
			const [spike, holed] = [await id('spike'), await id('holed')];
			await drawn(view, spike);
			const width = await view.page.locator(`[data-chart="${spike}"] .u-over`).evaluate((over) => over.clientWidth);
			assert.ok(rows > 4 * width, `with ${rows} rows on ${width} pixels, the chart draws only some of them`);

			const [before, peak, after] = (await painted(spike, [0.5, 0.6667, 0.8])) as [number, number, number];
			assert.ok(peak > 0.7 && before < 0.4 && after < 0.4 && before > 0.05, `${before} ${peak} ${after}`);
			await drawn(view, holed);
			const [full, gap, again] = (await painted(holed, [0.2, 0.45, 0.8])) as [number, number, number];
			assert.ok(full > 0.5 && gap === 0 && again > 0.5, `${full} ${gap} ${again}`);
			// Infrequent values are connected by a line.
			const rare = await id('rare');
			await drawn(view, rare);
			const [there, bridge] = (await painted(rare, [0.2, 0.5])) as [number, number];
			assert.ok(there > 0.5 && bridge > 0 && bridge < 0.1, `${there} ${bridge}`);
		});
	});

	it('keeps a stage and a pinned step across reloads, and the pin survives when the pointer leaves', async () => {
		const folder = join(root, 'pinned');
		await writeMetricsRun(folder);
		const first = await open(folder);
		await drawn(first);
		const { page } = first;
		await page.locator('.stage-choice').click();
		await page.locator('.stage-choice vscode-option[value="1"]').click();
		await readout(first, '121 \u2013 520');
		const over = page.locator('[data-chart="reward"] .u-over');
		const box = (await over.boundingBox()) as { x: number; y: number; width: number; height: number };
		const at = (step: number) => box.x + ((step - 121) / (520 - 121)) * box.width;
		const pinned = page.locator('.pinned');
		assert.equal(await pinned.isVisible(), false);
		// The chart shows the new range one frame after the readout does.
		let below = 40;
		await soon(async () => {
			await page.mouse.move(at(220), box.y + below++);
			assert.match(await text(first, '.readout'), /^step 220 /);
		});
		await page.mouse.down();
		await page.mouse.up();
		const open220 = page.getByRole('button', { name: 'Open Rollouts at Step 220', exact: true });
		await open220.waitFor();
		// Hovering shows other steps; when the pointer leaves, the pinned step returns and determines which rollouts open.
		await page.mouse.move(at(400), box.y + 40);
		await page.waitForFunction(() => /^step (39|40)\d /.test(document.querySelector('.readout')?.textContent ?? ''));
		await open220.click();
		await page.locator('vscode-button[aria-label="Rollouts"]').click();
		await page.waitForFunction(() => /^step 220 /.test(document.querySelector('.readout')?.textContent ?? ''));
		await until(() => first.rollouts.length >= 2);
		assert.deepEqual(first.rollouts, [first.session.rolloutStepFor(220), first.session.rolloutStepFor(220)]);
		// A drag selects a range and does not pin anything.
		await page.mouse.move(at(300), box.y + 40);
		await page.mouse.down();
		await page.mouse.move(at(420), box.y + 40, { steps: 4 });
		await page.mouse.up();
		await open220.waitFor();
		await page.locator('.stage-choice').click();
		await page.locator('.stage-choice vscode-option[value="1"]').click();
		const second = await open(folder, { state: await first.state() });
		await drawn(second);
		await second.page.getByRole('button', { name: 'Open Rollouts at Step 220', exact: true }).waitFor();
		assert.equal(await second.page.locator('.stage-choice').evaluate((node) => (node as HTMLSelectElement).value), '1');
		await looksRightNow(second, 'dashboard-pinned');
		await second.page.getByRole('button', { name: 'Unpin step' }).click();
		await readout(second, '121 \u2013 520');
		assert.equal(await second.page.locator('.pinned').isVisible(), false);
		const kept = (await second.state()) as { view: { pinned: number | null } };
		assert.equal(kept.view.pinned, null);
		assert.deepEqual([...first.errors, ...second.errors], []);
	});

	it('keeps user choices and the folder across reloads', async () => {
		const folder = join(root, 'kept');
		await writeMetricsRun(folder);
		const first = await open(folder);
		await drawn(first);
		await first.page.locator('.slider').fill('0.9');
		await first.page.locator('[data-chart="reward"] .legend-entry').nth(1).click();
		await first.page.locator('.group-button', { hasText: 'Time breakdown' }).click();
		const state = (await first.state()) as { runFolder: string; view: { smoothing: number; hidden: string[] } };
		assert.equal(state.runFolder, folder);
		assert.equal(state.view.smoothing, 0.9);
		const second = await open(folder, { state });
		await drawn(second);
		assert.equal(await second.page.locator('.slider').inputValue(), '0.9');
		assert.equal(
			await second.page.locator('[data-chart="reward"] .legend-entry').nth(1).getAttribute('aria-pressed'),
			'false',
		);
		assert.equal(
			await second.page.locator('.group-button', { hasText: 'Time breakdown' }).getAttribute('aria-expanded'),
			'false',
		);
		assert.deepEqual(second.errors, []);
		const nonsense = await open(folder, { state: { runFolder: 7, view: 'x' } });
		await drawn(nonsense);
		assert.deepEqual(nonsense.errors, []);
	});

	it('shows the time per phase for a range and for a step, and the activity of each GPU', async () => {
		const gpu = (number: number) => ({
			[`gpu/${number}/memory_used`]: (60 + number) * 2 ** 30,
			[`gpu/${number}/memory_total`]: 80 * 2 ** 30,
			[`gpu/${number}/utilization`]: 0.75,
			[`gpu/${number}/temperature`]: 61,
			[`gpu/${number}/power`]: 512,
		});
		await withRun({ sft: 20, grpo: 60, extra: () => ({ ...gpu(0), ...gpu(1) }) }, { width: 900 }, async (view) => {
			const { page } = view;
			const legend = (name: string) =>
				page.locator('[data-chart="phases"] .legend-entry', { hasText: name }).locator('.value');
			await drawn(view, 'phases');
			await page.waitForFunction(() =>
				/mean of 80 steps in view/.test(document.querySelector('.shares')?.textContent ?? ''),
			);
			assert.match(await legend('Sampling').innerText(), /^2\d\d ms · \d+%$/);
			// A phase that is missing in this step counts as zero, whatever it took earlier.
			await page.locator('[data-chart="phases"] .plot').focus();
			for (const key of ['End', 'ArrowLeft']) await page.keyboard.press(key);
			await page.waitForFunction(() => /^step 79$/.test(document.querySelector('.shares')?.textContent ?? ''));
			assert.equal(await legend('Evaluation').innerText(), '\u2013');
			const devices = page.locator('[data-group="devices"]');
			await drawn(view, 'gpu-1-power');
			assert.equal(await devices.locator('.card').count(), 8);
			assert.match(
				await devices.locator('[data-chart="gpu-1-memory"]').innerText(),
				/In use\s+61 GiB\s+Limit\s+80 GiB/,
			);
			assert.match(await devices.locator('[data-chart="gpu-0-power"]').innerText(), /512 W/);
			assert.deepEqual(await view.violations('names'), []);
		});
	});

	it('offers the actions that the run state allows, in one tab stop with arrow keys, and reports failures', async () => {
		const now = Date.now() / 1000;
		const alive = { ...(await ownIdentity()), created: now - 60, updated: now, heartbeat: now };
		const options: { failure?: Failure } = {};
		await withRun({ record: { ...alive, status: 'running' } }, options, async (view) => {
			await drawn(view);
			const { page } = view;
			const names = await page
				.locator('.run-actions vscode-button:visible')
				.evaluateAll((nodes) => nodes.map((node) => node.getAttribute('aria-label')));
			assert.deepEqual(names, [
				'Pause',
				'Stop',
				'Rollouts',
				'Save checkpoint',
				'Set hyperparameters',
				'Open log',
				'Open run folder',
			]);
			const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
			await page.evaluate(() => window.scrollTo(0, 0));
			await page.keyboard.press('Tab');
			assert.equal(await focused(), 'Pause');
			await page.keyboard.press('ArrowRight');
			await page.keyboard.press('ArrowRight');
			assert.equal(await focused(), 'Rollouts');
			await page.keyboard.press('End');
			assert.equal(await focused(), 'Open run folder');
			await page.keyboard.press('Enter');
			await until(() => view.acts.length > 0);
			assert.deepEqual(view.acts, ['openFolder']);
			await page.keyboard.press('Tab');
			assert.notEqual(await focused(), 'Pause');
			await page.keyboard.press('Shift+Tab');
			assert.equal(await focused(), 'Open run folder', 'focus returns to the last button used');
			options.failure = new Failure('unavailable', 'The engine does not answer.', 'Open its log.');
			await page.locator('vscode-button[aria-label="Pause"]').click();
			await page.locator('.flash').waitFor();
			assert.equal(await text(view, '.flash'), 'The engine does not answer. Open its log.');
		});
	});

	it('explains why a run crashed and offers to resume it', async () => {
		const record = {
			status: 'crashed',
			error: { reason: 'full', message: 'The disk is full.', action: 'Free up some disk space.' },
		} as const;
		await withRun({ record }, {}, async (view) => {
			await drawn(view);
			assert.match(await text(view, '.notice'), /The run crashed[\s\S]*The disk is full\. Free up some disk space\./);
			await view.page.locator('.notice vscode-button[aria-label="Resume"]').click();
			await until(() => view.acts.length > 0);
			assert.deepEqual(view.acts, ['resume']);
			assert.deepEqual(await view.violations('names'), []);
		});
	});

	it('shows the cold start until GRPO begins', async () => {
		const now = Date.now() / 1000;
		const alive = { ...(await ownIdentity()), created: now - 60, updated: now, heartbeat: now };
		await withRun({ sft: 40, grpo: 0, record: { ...alive, status: 'running' } }, {}, async (view) => {
			await drawn(view, 'loss');
			assert.match(await text(view, '.notice'), /Cold start/);
			assert.equal(await view.page.locator('[data-chart="reward"]').count(), 0);
			await view.page.locator('[data-chart="loss"] .about').focus();
			await view.page.waitForSelector('.tooltip:popover-open');
			assert.match(await text(view, '.tooltip'), /likelihood/);
		});
	});

	it('follows a live run without losing or duplicating a step, even if messages are lost', async () => {
		const folder = join(root, 'live');
		await mkdir(folder);
		const writer = await RunWriter.create(folder, { ...initialRecord, id: 'live', name: 'live', totalSteps: 300 });
		opened.push(writer);
		const lines = [...madeUpMetrics({ sft: 0, grpo: 300 })];
		for (const line of lines.slice(0, 50)) await writer.appendMetrics(line);
		const view = await open(folder, { lose: 4, chunkBytes: 8000 });
		await drawn(view);
		for (const line of lines.slice(50)) await writer.appendMetrics(line);
		await view.session.refresh();
		const plot = view.page.locator('[data-chart="reward"] .plot');
		for (let i = 0; i < 100; i++) {
			await plot.focus();
			await view.page.keyboard.press('End');
			if (/^step 300:/.test((await plot.getAttribute('aria-valuetext')) ?? '')) break;
			await view.page.waitForTimeout(50);
			// If the lost event is the last one, the next heartbeat of the engine reveals it.
			if (i % 10 === 9) await writer.updateRecord({});
		}
		assert.match((await plot.getAttribute('aria-valuetext')) ?? '', /^step 300:/);
		assert.equal(await plot.getAttribute('aria-valuemax'), '299', 'one row per step');
		assert.ok(view.resyncs() >= 1);
		assert.deepEqual([view.errors, view.faults], [[], []]);
	});

	it('keeps a cursor placed by keyboard when new data arrives, and draws nothing while its tab is hidden', async () => {
		const folder = join(root, 'cursor');
		await mkdir(folder);
		const writer = await RunWriter.create(folder, { ...initialRecord, id: 'cursor', name: 'cursor', totalSteps: 200 });
		opened.push(writer);
		const lines = [...madeUpMetrics({ sft: 0, grpo: 200 })];
		for (const line of lines.slice(0, 100)) await writer.appendMetrics(line);
		const view = await open(folder);
		await drawn(view);
		const { page } = view;
		const plot = page.locator('[data-chart="reward"] .plot');
		const box = await plot.boundingBox();
		assert.ok(box);
		const said = () => plot.getAttribute('aria-valuetext');
		const grow = async (rows: number) => {
			for (const line of lines.slice(0, rows).slice(writer.lastMetricsStep)) await writer.appendMetrics(line);
			await page.waitForFunction(
				(rows) =>
					document.querySelector('[data-chart="reward"] .plot')?.getAttribute('aria-valuemax') === `${rows - 1}`,
				rows,
			);
			await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
		};
		await plot.focus();
		await page.keyboard.press('End');
		assert.match((await said()) ?? '', /^step 100:/);
		await grow(120);
		assert.match((await said()) ?? '', /^step 100:/, 'new rows do not move the cursor');
		await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
		assert.doesNotMatch((await said()) ?? '', /^step 100:/);
		await page.keyboard.press('End');
		await grow(150);
		assert.match((await said()) ?? '', /^step 120:/, 'a resting pointer does not move the cursor');
		await page.mouse.move(box.x + box.width / 2 + 1, box.y + box.height / 2);
		assert.doesNotMatch((await said()) ?? '', /^step 120:/);
		await page.mouse.move(2, 2);

		await view.post({ kind: 'shown', shown: false });
		await page.evaluate(() => {
			const work = { changes: 0 };
			Object.assign(window, { work });
			new MutationObserver((records) => {
				// Announcements for what was drawn earlier may still arrive.
				work.changes += records.filter(({ target }) => !(target as Element).matches('.visually-hidden')).length;
			}).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
		});
		const changes = () => page.evaluate(() => (window as unknown as { work: { changes: number } }).work.changes);
		for (const line of lines.slice(150)) await writer.appendMetrics(line);
		await view.session.refresh();
		// Longer than one tick of the page's clock.
		await page.waitForTimeout(1200);
		assert.equal(await changes(), 0);
		await view.post({ kind: 'shown', shown: true });
		await page.locator('.run-header', { hasText: '200 / 200' }).waitFor();
		const last = lines.at(-1)?.values.reward?.toPrecision(4) ?? '';
		await page.locator('[data-chart="reward"] .legend .value', { hasText: last }).first().waitFor();
		assert.ok((await changes()) > 0);
		assert.deepEqual([view.errors, view.faults], [[], []]);
	});

	// `npm test` covers this in `hostilePages.test.ts`; this test runs only in `npm run acceptance -- pageLooks`.
	if (complete)
		it('shows hostile names as text', async () => {
			const bad = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
			const extra = () => ({ [bad]: 1, 'javascript:alert(1)': 2, [`${'long'.repeat(500)}`]: 3, '\u202ereversed': 4 });
			await withRun({ sft: 3, grpo: 5, extra, record: { name: bad, device: bad } }, { width: 700 }, async (view) => {
				await drawn(view);
				const { page } = view;
				assert.ok((await page.locator('.card h3').allInnerTexts()).includes(bad));
				assert.equal(await page.locator('#app img, #app script, body img').count(), 0);
				assert.equal(await page.title(), 'dashboard');
				await fitsWidth(view, 'hostile names');
			});
		});
});
