/**
 * Runs the suites inside an extension host, of a browser workbench or of desktop VS Code: both call `run` of the module
 * named as the extension's tests path. Results go to the file named by REASONING_LAB_TEST_RESULTS.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Mocha from 'mocha';

export interface IntegrationResults {
	passed: number;
	/** Title and reason, where one is known. */
	readonly skipped: string[];
	readonly failed: { title: string; error: string }[];
}

export async function run(): Promise<void> {
	const mocha = new Mocha({ ui: 'tdd', color: false, timeout: 120_000 });
	const suites = join(__dirname, 'suites');
	for (const name of readdirSync(suites).sort()) if (name.endsWith('.cjs')) mocha.addFile(join(suites, name));
	const results: IntegrationResults = { passed: 0, skipped: [], failed: [] };
	await new Promise<void>((resolve) => {
		const runner = start(mocha, results, resolve);
		if (runner === null) return;
		runner.on('pass', () => results.passed++);
		runner.on('pending', (test) => results.skipped.push(test.fullTitle()));
		runner.on('fail', (test, error) =>
			results.failed.push({ title: test.fullTitle(), error: error?.stack ?? String(error) }),
		);
	});
	const path = process.env.REASONING_LAB_TEST_RESULTS;
	if (path !== undefined) writeFileSync(path, JSON.stringify(results));
	if (results.failed.length > 0) throw new Error(`${results.failed.length} tests failed`);
}

/** A suite file that throws while it is loaded is a failure of its own, not the end of the runner. */
function start(mocha: Mocha, results: IntegrationResults, done: () => void): Mocha.Runner | null {
	try {
		return mocha.run(done);
	} catch (error) {
		results.failed.push({ title: 'The suites could not be loaded', error: (error as Error)?.stack ?? String(error) });
		done();
		return null;
	}
}
