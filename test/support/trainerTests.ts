import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { root } from '../scripts/paths.ts';
import { readJunit } from './junit.ts';
import { startPython } from './loadedPython.ts';

export interface TrainerTests {
	readonly python: string;
	/** Existing folder for temporary files. */
	readonly folder: string;
	/** Expression for pytest's -m option. */
	readonly marked: string;
}

/** Runs the trainer's tests in one Python process and reports each as a subtest. */
export async function runTrainerTests(t: TestContext, { python, folder, marked }: TrainerTests): Promise<void> {
	const report = join(folder, 'junit.xml');
	const child = await startPython({
		python,
		script: { module: 'pytest' },
		args: ['test/trainer/python', '-m', marked, '-p', 'no:cacheprovider', `--junitxml=${report}`],
		env: {
			PYTHONPATH: join(root, 'src/engines/trainer'),
			PYTHONDONTWRITEBYTECODE: '1',
			PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1',
			TMPDIR: folder,
		},
	});
	const { status: code, stdout, stderr } = await child.exit;
	const output = `${stdout}\n${stderr}`;
	assert.ok(existsSync(report), output);
	const cases = readJunit(readFileSync(report, 'utf8'));
	assert.ok(cases.length > 0, output);
	for (const { name, outcome, words } of cases) {
		await t.test(name, { skip: outcome === 'skipped' ? words : false }, () => {
			assert.equal(outcome, 'passed', words);
		});
	}
	assert.equal(code, cases.some(({ outcome }) => outcome === 'failed') ? 1 : 0, output);
}
