// @reaches dashboard rollouts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame } from 'playwright-core';
import { bodyKinds, overflow, violations } from '../e2e/accessibility.ts';
import { inOrder, Laboratory } from '../e2e/laboratory.ts';
import { DashboardPage } from '../e2e/pages/dashboardPage.ts';
import { RolloutsPage } from '../e2e/pages/rolloutsPage.ts';
import { smallRecipe } from '../e2e/smallRecipe.ts';
import { skip } from '../support/chromium.ts';

const kinds = ['vs-dark', 'vs', 'hc-black', 'hc-light'] as const;
const widths = { narrow: 640, wide: 1900 } as const;

test('panels in every theme, narrow and wide', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'looks');
	const step = inOrder(t);
	const workbench = await lab.workbench();

	for (const kind of kinds) {
		await step(`an empty workspace offers to start the demo, ${kind}`, async () => {
			await lab.setTheme(workbench, kind);
			await workbench.openSideBar();
			await workbench.page.locator('.sidebar').getByRole('button', { name: 'Start Demo Run' }).waitFor();
			await workbench.screenshot(`empty-${kind}`);
		});
	}

	const recipe = lab.write('whole.recipe.json', { ...smallRecipe(40), name: 'whole' });
	const { code, stderr } = await lab.cli('run', recipe);
	assert.equal(code, 0, stderr);
	await workbench.runAction(/^whole/, /Open Dashboard/);

	const ready: Record<'dashboard' | 'rollouts', () => Promise<Frame>> = {
		dashboard: async () => {
			const page = new DashboardPage(await workbench.app('dashboard'));
			await page.legend('Reward').filter({ hasText: /\d/ }).waitFor();
			return page.frame;
		},
		rollouts: async () => {
			const page = new RolloutsPage(await workbench.app('rollouts'));
			await page.cards().first().getByText('Answer', { exact: true }).first().waitFor();
			return page.frame;
		},
	};

	for (const app of ['dashboard', 'rollouts'] as const) {
		if (app === 'rollouts') {
			await new DashboardPage(await workbench.app('dashboard')).action('Rollouts').click();
			await ready.rollouts();
		}
		for (const kind of kinds) {
			const rules = kind === kinds[0] ? 'all' : 'contrast';
			await step(`${app}, ${kind}: no violation of WCAG 2.1 AA (${rules})`, async () => {
				await lab.setTheme(workbench, kind);
				const frame = await ready[app]();
				await frame.locator(`body[data-vscode-theme-kind="${bodyKinds[kind]}"]`).waitFor();
				await workbench.screenshot(`${app}-${kind}`);
				assert.deepEqual(await violations(frame, rules), []);
			});
		}
		await lab.setTheme(workbench, 'vs-dark');
		for (const [name, width] of Object.entries(widths)) {
			await step(`${app}, ${name}: nothing overflows horizontally`, async () => {
				await workbench.page.setViewportSize({ width, height: 900 });
				if (name === 'narrow') await workbench.closeSideBar();
				const frame = await ready[app]();
				await workbench.screenshot(`${app}-${name}`);
				const wider = await overflow(frame);
				assert.ok(wider <= 0, `the page is ${wider} px wider than its panel`);
			});
		}
		await workbench.page.setViewportSize({ width: 1400, height: 900 });
	}
});
