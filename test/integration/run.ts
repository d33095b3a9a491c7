/**
 * Runs the suites inside an extension host, either in a browser workbench or in desktop VS Code. Both call `run` in the
 * module given as the extension's tests path. Results are written to the file named by REASONING_LAB_TEST_RESULTS;
 * REASONING_LAB_TEST_PATTERN filters tests by name.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Mocha from 'mocha';

export interface IntegrationTest {
	readonly title: string;
	readonly status: 'passed' | 'failed' | 'skipped';
	readonly milliseconds: number;
	readonly error?: string;
}

export interface IntegrationResults {
	readonly tests: IntegrationTest[];
}

export async function run(): Promise<void> {
	const { REASONING_LAB_TEST_RESULTS: path, REASONING_LAB_TEST_PATTERN: pattern } = process.env;
	const mocha = new Mocha({
		ui: 'tdd',
		color: false,
		timeout: 120_000,
		// Test names start with the name of the program that runs the suites, which is unknown here.
		...(pattern === undefined
			? {}
			: { grep: new RegExp(pattern.replace(/^(browser workbench|desktop VS Code) /, '')) }),
	});
	const suites = join(__dirname, 'suites');
	for (const name of readdirSync(suites).sort()) if (name.endsWith('.cjs')) mocha.addFile(join(suites, name));
	const tests: IntegrationTest[] = [];
	const add = (test: Mocha.Test | Mocha.Hook, status: IntegrationTest['status'], error?: unknown) =>
		tests.push({
			title: test.fullTitle(),
			status,
			milliseconds: test.duration ?? 0,
			...(status === 'failed' ? { error: (error as Error)?.stack ?? String(error) } : {}),
		});
	await new Promise<void>((resolve) => {
		try {
			const runner = mocha.run(() => resolve());
			runner.on('pass', (test) => add(test, 'passed'));
			runner.on('pending', (test) => add(test, 'skipped'));
			runner.on('fail', (test, error) => add(test, 'failed', error));
		} catch (error) {
			// Report a suite file that throws while loading as a separate failure instead of aborting the runner.
			tests.push({
				title: 'the suites are loaded',
				status: 'failed',
				milliseconds: 0,
				error: (error as Error)?.stack ?? String(error),
			});
			resolve();
		}
	});
	if (path !== undefined) writeFileSync(path, JSON.stringify({ tests } satisfies IntegrationResults));
	const failed = tests.filter(({ status }) => status === 'failed').length;
	if (failed > 0) throw new Error(`${failed} tests failed`);
}
