/** Runs the trainer tests that `npm test` skips, which repeat others with more cases. */
// @reaches trainer
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { runTrainerTests } from '../support/trainerTests.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

describe('the trainer', { skip }, () => {
	const folder = mkdtempSync(join(tmpdir(), 'py-'));
	after(() => rmSync(folder, { recursive: true, force: true }));

	test('passes its tests with more cases', { timeout: 1_800_000 }, (t) =>
		runTrainerTests(t, { python, folder, marked: 'acceptance' }),
	);
});
