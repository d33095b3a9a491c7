/** Runs the trainer's own tests with pytest in one process, and checks its code style. */
// @reaches trainer
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { runTrainerTests } from '../support/trainerTests.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
// In CI, do not skip: a skipped suite would look like a passing one.
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

interface Outcome {
	readonly code: number;
	readonly output: string;
}

function run(args: readonly string[]): Promise<Outcome> {
	return new Promise((resolve) => {
		const options = { cwd: root, maxBuffer: 64 << 20 };
		execFile(python, [...args], options, (error, stdout, stderr) => {
			const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
			resolve({ code, output: `${stdout}\n${stderr}` });
		});
	});
}

describe('the trainer', { skip }, () => {
	const folder = mkdtempSync(join(tmpdir(), 'py-'));
	after(() => rmSync(folder, { recursive: true, force: true }));

	test('passes the linter and formatter', async () => {
		const code = ['src/engines/trainer', 'test/trainer'];
		const config = ['--config', 'src/engines/trainer/pyproject.toml', '--no-cache'];
		const checked = await run(['-m', 'ruff', 'check', ...config, ...code]);
		assert.equal(checked.code, 0, checked.output);
		const formatted = await run(['-m', 'ruff', 'format', '--check', ...config, ...code]);
		assert.equal(formatted.code, 0, formatted.output);
	});

	test('passes its own tests', { timeout: 880_000 }, (t) =>
		runTrainerTests(t, { python, folder, marked: 'not acceptance' }),
	);
});
