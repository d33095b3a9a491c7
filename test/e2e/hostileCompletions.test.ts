// @reaches rollouts
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Frame } from 'playwright-core';
import { skip } from '../support/chromium.ts';
import { hostileHost, hostileTexts } from '../support/hostileTexts.ts';
import { overflow } from './accessibility.ts';
import { inOrder, Laboratory } from './laboratory.ts';
import { RolloutsPage } from './pages/rolloutsPage.ts';

const perGroup = 8;
const texts = Object.entries(hostileTexts);
const groups = Math.ceil(texts.length / perGroup);

/** Folder of an ended run whose every text is one of the corpus: completions, prompts, answers, names. */
function writeHostileRun(folder: string): void {
	const nasty = hostileTexts['image error'] ?? '';
	mkdirSync(join(folder, 'rollouts'), { recursive: true });
	const now = Date.now() / 1000;
	const lines = texts.map(([name, completion], i) =>
		JSON.stringify({
			step: 1,
			stage: nasty,
			group: Math.floor(i / perGroup),
			index: i % perGroup,
			prompt: `${name}: ${texts[(i + 7) % texts.length]?.[1].slice(0, 500)}`,
			completion,
			answer: hostileTexts['script in answer'],
			row: JSON.parse('{"__proto__":{"polluted":true}}'),
			rewards: JSON.parse(`{"__proto__":1,"constructor":2,${JSON.stringify(nasty)}:${i / 10}}`),
			reward: i / 10,
			advantage: 0,
			truncated: i % 2 === 0,
			extra: { html: nasty, name },
		}),
	);
	writeFileSync(join(folder, 'rollouts', 'step_000001.jsonl'), `${lines.join('\n')}\n`);
	writeFileSync(
		join(folder, 'metrics.jsonl'),
		`${JSON.stringify({ step: 1, time: now, stage: nasty, reward: 1, [`rewards/${nasty}/mean`]: 1 })}\n`,
	);
	const record = {
		format: 1,
		id: nasty,
		name: `hostile ${nasty} \u202e $(zap) [x](command:workbench.action.quit)`,
		engine: 'embedded',
		status: 'finished',
		attempt: 1,
		stage: nasty,
		step: 1,
		totalSteps: 1,
		created: now,
		updated: now,
		heartbeat: now,
		host: nasty,
		boot: 'elsewhere',
		pid: 1,
		processStart: 'long ago',
		device: nasty,
		parent: null,
		seeds: {},
		versions: { [nasty]: nasty },
		hashes: { recipe: '', dataset: '', rewards: '' },
	};
	writeFileSync(join(folder, 'run.json'), JSON.stringify(record));
}

test('hostile completions are shown and take no effect', { skip }, async (t) => {
	assert.ok(texts.length >= 60);
	const lab = await Laboratory.open(t, 'hostile');
	const step = inOrder(t);
	writeHostileRun(join(lab.workspace, 'runs', 'hostile'));
	const workbench = await lab.workbench();
	const { page } = workbench;
	const requested: string[] = [];
	const dialogs: string[] = [];
	page.context().on('request', (request) => {
		if (request.url().includes(hostileHost)) requested.push(request.url());
	});
	page.on('dialog', (dialog) => {
		dialogs.push(dialog.message());
		void dialog.dismiss();
	});

	const harmless = async (frame: Frame, where: string) => {
		for (const one of page.frames()) {
			const hit = await one
				.evaluate(() => (globalThis as { hostile?: number }).hostile ?? ({} as { polluted?: boolean }).polluted)
				.catch(() => undefined);
			assert.equal(hit ?? null, null, `${where}: something ran in ${one.url()}`);
		}
		assert.equal(await page.locator('[data-hostile]').count(), 0, `${where}: markup in the workbench`);
		assert.equal(await frame.locator('[data-hostile]').count(), 0, `${where}: markup in the panel`);
		assert.deepEqual([requested, dialogs], [[], []], where);
		const wider = await overflow(frame);
		assert.ok(wider <= 0, `${where}: the page is ${wider} px wider than its panel`);
	};

	await step('the tree names the run in one line of plain text', async () => {
		await workbench.openSideBar();
		const row = workbench.run(/^hostile/);
		await row.waitFor();
		const name = (await row.getAttribute('aria-label')) ?? '';
		assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(name), name);
		await row.hover();
		await page.waitForTimeout(1200);
		await workbench.screenshot('hostile-tree');
	});

	await workbench.command('Open Rollouts');
	const rollouts = new RolloutsPage(await workbench.app('rollouts'));
	await rollouts.groups().first().waitFor();
	assert.equal(await rollouts.groups().count(), groups);

	for (let group = 0; group < groups; group++) {
		const names = texts.slice(group * perGroup, (group + 1) * perGroup).map(([name]) => name);
		await step(`group ${group}: ${names.join(', ')}`, async () => {
			await rollouts.groups().nth(group).click();
			await rollouts.frame.getByRole('heading', { name: new RegExp(`^Group ${group}\\b`) }).waitFor();
			await rollouts.cards().first().waitFor();
			for (let i = 0; i < names.length; i++) {
				const card = rollouts.cards().nth(i);
				await card.scrollIntoViewIfNeeded();
				const box = await card.boundingBox();
				assert.ok(box !== null && box.width > 100 && box.height < 20_000, JSON.stringify(box));
			}
			await harmless(rollouts.frame, names.join(', '));
			await workbench.screenshot(`hostile-group-${group}`);
		});
	}

	await step('nothing has taken effect a while later', async () => {
		await page.waitForTimeout(1000);
		await harmless(rollouts.frame, 'afterwards');
	});
});
