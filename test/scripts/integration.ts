/**
 * Runs the suites of test/integration inside the extension host of a browser workbench, and of a desktop VS Code where
 * one is installed: node test/scripts/integration.ts
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IntegrationResults } from '../integration/run.ts';
import { launchChromium, skip } from '../support/chromium.ts';
import { writeCounts } from './counts.ts';
import { runOnDesktop } from './desktop.ts';
import { artifacts, root } from './paths.ts';
import { installCodeServer } from './workbench/install.ts';
import { Server } from './workbench/server.ts';

const suites = join(root, 'dist/test/integration.cjs');
const timeoutSeconds = 840;

/** Resolves with the suites' results, or with the reason why they did not run. */
async function runInBrowser(results: string, workspace: string): Promise<string | undefined> {
	if (skip) return skip;
	const server = new Server({
		entry: await installCodeServer(console.log),
		log: join(artifacts, 'integration-server.log'),
		testDriver: true,
		env: { REASONING_LAB_TEST_RESULTS: results },
	});
	await server.start();
	const chrome = await launchChromium();
	try {
		const page = await server.openPage(chrome);
		const ended = new Promise<void>((resolve) => {
			// The workbench calls these two globals where the page has them.
			void page.exposeFunction('codeAutomationExit', () => resolve());
			void page.exposeFunction('codeAutomationLog', () => undefined);
		});
		await page.goto(server.url(workspace, { extension: root, suites }), { waitUntil: 'domcontentloaded' });
		let timer: NodeJS.Timeout | undefined;
		const late = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, timeoutSeconds * 1000);
		});
		await Promise.race([ended, late]);
		clearTimeout(timer);
		if (!existsSync(results)) {
			await page.screenshot({ path: join(artifacts, 'integration.png') });
			throw new Error(`No results after ${timeoutSeconds} s. Log: ${server.options.log}`);
		}
	} finally {
		await chrome.close();
		await server.dispose();
	}
	return undefined;
}

const total = { passed: 0, failed: 0, skipped: 0 };
/** Said again at the end of all phases. */
const failures: string[] = [];
mkdirSync(artifacts, { recursive: true });
for (const [host, runSuites] of [
	['browser workbench', runInBrowser],
	['desktop VS Code', runOnDesktop],
] as const) {
	const folder = mkdtempSync(join(tmpdir(), 'rl-suites-'));
	const workspace = join(folder, 'workspace');
	mkdirSync(workspace);
	const path = join(folder, 'results.json');
	try {
		const skipped = await runSuites(path, workspace);
		if (skipped !== undefined) {
			console.log(`↷ suites in ${host}: skipped, ${skipped}`);
			total.skipped++;
			continue;
		}
		const results: IntegrationResults = JSON.parse(readFileSync(path, 'utf8'));
		for (const { title, error } of results.failed) console.log(`  ✖ ${title}\n${error.replaceAll(/^/gm, '      ')}`);
		for (const title of results.skipped) console.log(`  ↷ ${title}: skipped`);
		const mark = results.failed.length > 0 ? '✖' : '✔';
		console.log(`${mark} suites in ${host}: ${results.passed} passed, ${results.failed.length} failed`);
		for (const { title, error } of results.failed) failures.push(`${title}: ${error.split('\n', 1)[0]}`);
		total.passed += results.passed;
		total.failed += results.failed.length;
		total.skipped += results.skipped.length;
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		console.log(`✖ suites in ${host}: ${reason}`);
		failures.push(`suites in ${host}: ${reason}`);
		total.failed++;
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
writeCounts({ ...total, failures });
process.exit(total.failed > 0 ? 1 : 0);
