/**
 * Compares losses, advantages and token selections with the reference programs on 200 random batches of each kind; the
 * fixtures of the unit tests contain a few. TRL is the one in the Python environment of the tests. The advantages and
 * selections of other authors also need clones of their repositories: set PASSK_TRAINING (RUCAIBox/Passk_Training), MAXRL
 * (tajwarfahim/maxrl) and VERL (verl-project/verl).
 */
// @reaches trainer
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';

const execute = promisify(execFile);
const count = 200;
const { PASSK_TRAINING: passk, MAXRL: maxRl, VERL: verl } = process.env;
const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

describe('formulas of the embedded engine', { skip }, () => {
	const made = mkdtemp(join(tmpdir(), 'golden-'));
	after(async () => rm(await made, { recursive: true, force: true }));

	/** Writes results of a reference program, and runs the unit tests on them. Returns the number of tests. */
	const compare = async (
		program: string,
		args: readonly string[],
		tests: string,
		variable: string,
	): Promise<number> => {
		const file = join(await made, `${variable}.json`);
		const { stdout: folder } = await execute(python, ['-c', 'import trl; print(trl.__path__[0])']);
		const trl = join(folder.trim(), 'trainer');
		await execute(python, [join(root, 'test/golden', program), trl, ...args, file], { timeout: 1_800_000 });
		const { stdout } = await execute(process.execPath, ['--test', '--test-reporter=tap', join(root, tests)], {
			env: { ...process.env, [variable]: file, NODE_TEST_CONTEXT: undefined },
			maxBuffer: 1 << 28,
			timeout: 1_800_000,
		});
		assert.match(stdout, /^# fail 0$/m);
		return Number(/^# pass (\d+)$/m.exec(stdout)?.[1]);
	};

	test('are those of TRL', { timeout: 3_600_000 }, async () => {
		const passed = await compare('makeTrlGolden.py', [String(count)], 'test/golden/trl.test.ts', 'TRL_GOLDEN');
		console.error(`${passed} comparisons with TRL`);
		assert.ok(passed > 10_000);
	});

	const authors = passk && maxRl && verl ? false : 'set PASSK_TRAINING, MAXRL and VERL to clones of the repositories';
	test('are those of the authors of pass@k, MaxRL, DPPO, KL-Cov and Clip-Cov', { skip: authors }, async () => {
		const algorithms = 'verl/trainer/ppo/core_algos.py';
		// Each of the two kinds of DPPO and of pass@k is half of its cases.
		const passed = await compare(
			'makeEstimatorGolden.py',
			[
				...[join(passk as string, 'code/passk_adv.py'), join(maxRl as string, algorithms)],
				...[join(verl as string, algorithms), String(2 * count)],
			],
			'test/golden/estimators.test.ts',
			'ESTIMATOR_GOLDEN',
		);
		assert.equal(passed, 7, 'one test for each kind');
	});
});
