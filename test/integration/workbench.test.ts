/** Runs the suites in test/integration/suites inside the extension host of a browser workbench. */
// @reaches extension rewardHost search rolloutIndex dataset episode
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { artifacts, root } from '../scripts/paths.ts';
import { installCodeServer } from '../scripts/workbench/install.ts';
import { Server } from '../scripts/workbench/server.ts';
import { launchChromium, skip } from '../support/chromium.ts';
import { declareSuites, suitesProgram, suitesTimeoutSeconds } from './hostSuites.ts';

if (skip) test('suites in the browser workbench', { skip }, () => undefined);
else describe('browser workbench', () => declareSuites(runInWorkbench));

async function runInWorkbench(results: string, workspace: string, env: Record<string, string>): Promise<void> {
	const server = new Server({
		entry: await installCodeServer(console.log),
		log: join(artifacts, 'integration-server.log'),
		testDriver: true,
		env,
	});
	await server.start();
	const chrome = await launchChromium();
	try {
		// Small, because the suites use only the API, and the browser paints in software.
		const page = await server.openPage(chrome, { viewport: { width: 800, height: 600 } });
		const ended = new Promise<void>((resolve) => {
			// The workbench calls these two global functions if the page defines them.
			void page.exposeFunction('codeAutomationExit', () => resolve());
			void page.exposeFunction('codeAutomationLog', () => undefined);
		});
		await page.goto(server.url(workspace, { extension: root, suites: suitesProgram }), {
			waitUntil: 'domcontentloaded',
		});
		let timer: NodeJS.Timeout | undefined;
		const late = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, suitesTimeoutSeconds * 1000);
		});
		await Promise.race([ended, late]);
		clearTimeout(timer);
		if (!existsSync(results)) {
			await page.screenshot({ path: join(artifacts, 'integration.png') });
			throw new Error(`No results after ${suitesTimeoutSeconds} s. Log: ${server.options.log}`);
		}
	} finally {
		await chrome.close();
		await server.dispose();
	}
}
