// @reaches verification rewardHost
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Frame } from 'playwright-core';
import { bodyKinds, overflow, violations } from '../e2e/accessibility.ts';
import { inOrder, Laboratory, waitUntil } from '../e2e/laboratory.ts';
import { RewardPage } from '../e2e/pages/rewardPage.ts';
import { root } from '../scripts/paths.ts';
import { skip } from '../support/chromium.ts';

const kinds = ['vs', 'hc-black', 'hc-light', 'vs-dark'] as const;
const widths = { narrow: 640, wide: 1900 } as const;

/** Throws on some rows, rewards the answer anywhere in the completion, and prints. */
const faulty = `// @dataset ../data/train.jsonl
export const faulty = ({ completion, answer, prompt }) => {
	if (prompt.startsWith('9')) throw new Error('no nines');
	console.log(prompt);
	return completion.includes(answer) ? 1 : 0;
};
`;

test('reward results and audits in every theme, narrow and wide', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'reward-looks');
	cpSync(join(root, 'media/templates/starter'), lab.workspace, { recursive: true });
	lab.write('rewards/faulty.reward.mjs', faulty);
	const workbench = await lab.workbench();
	const { page } = workbench;
	const reward = new RewardPage(workbench, 'faulty.reward.mjs');
	const step = inOrder(t);
	/** Returns the panel that visibly contains the text. Hidden panels stay in the page. */
	const panel = async (words: string): Promise<Frame> => {
		let found: Frame | undefined;
		await waitUntil(async () => {
			for (const frame of page.frames()) {
				const seen = frame.getByText(words).first().isVisible();
				if (await seen.catch(() => false)) found = frame;
			}
			return found !== undefined;
		}, `${words} is on screen`);
		return found as Frame;
	};

	for (const [lens, words] of [
		['Results', 'Gold above wrong'],
		['Audit', 'Likely fix'],
	] as const) {
		await step(`${lens} opens beside its reward`, async () => {
			await reward.open();
			await reward.untilInline(/errors in line 3/);
			await reward.lens(lens).click();
			await panel(words);
			// Hide the side bars so that they do not obstruct the panel.
			await workbench.command('View: Maximize Editor Group and Hide Side Bars');
		});
		for (const kind of kinds) {
			await step(`${lens}, ${kind}: no violation of WCAG 2.1 AA`, async () => {
				await lab.setTheme(workbench, kind);
				const frame = await panel(words);
				await frame.locator(`body[data-vscode-theme-kind="${bodyKinds[kind]}"]`).waitFor();
				await workbench.screenshot(`reward-${lens.toLowerCase()}-${kind}`);
				assert.deepEqual(await violations(frame), []);
			});
		}
		for (const [name, width] of Object.entries(widths)) {
			await step(`${lens}, ${name}: nothing overflows horizontally`, async () => {
				await page.setViewportSize({ width, height: 900 });
				const frame = await panel(words);
				await workbench.screenshot(`reward-${lens.toLowerCase()}-${name}`);
				const wider = await overflow(frame);
				assert.ok(wider <= 0, `the page is ${wider} px wider than its panel`);
			});
		}
		await page.setViewportSize({ width: 1400, height: 900 });
		await workbench.command('View: Reset Editor Group Sizes');
	}
});
