import { join } from 'node:path';
import { test } from 'node:test';
import { Laboratory, screenshots, skip } from './laboratory.ts';

test('an empty workspace offers to start the demo', { skip }, async (t) => {
	const lab = await Laboratory.open(t, 'empty');
	const workbench = await lab.workbench();
	await workbench.openSideBar();
	await workbench.page.locator('.sidebar').getByRole('button', { name: /demo/i }).first().waitFor();
	for (const kind of ['vs-dark', 'vs', 'hc-black', 'hc-light'] as const) {
		await lab.setTheme(workbench, kind);
		await workbench.page.screenshot({ path: join(screenshots, `empty-${kind}.png`) });
	}
});
