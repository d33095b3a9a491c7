import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { commandFor, failureText, ownPlaces } from '../../runner/failure.ts';
import { root } from '../../scripts/paths.ts';

test('locations are limited to our own code, innermost first', () => {
	const stack = [
		'AssertionError [ERR_ASSERTION]: no',
		`    at check (file://${root}/node_modules/x/index.js:1:2)`,
		`    at helper (file://${root}/test/unit/help.ts?file=12:7:3)`,
		'    at node:internal/process/task_queues:104:5',
		`    at TestContext.<anonymous> (${root}/test/unit/some.test.ts:31:9)`,
		`    at runTest (file://${root}/test/runner/worker.ts:3:1)`,
		'    at elsewhere (/usr/lib/thing.js:4:4)',
	].join('\n');
	assert.deepEqual(ownPlaces(stack), [
		{ file: 'test/unit/help.ts', line: 7 },
		{ file: 'test/unit/some.test.ts', line: 31 },
	]);
	assert.deepEqual(ownPlaces(''), []);
});

test('a failure has a name, a message, locations and the command that reruns it', () => {
	const file = 'test/unit/runner/failure.test.ts';
	const text = failureText('unit', file, {
		name: 'suite > does (it)',
		filter: 'suite does (it)',
		status: 'failed',
		milliseconds: 3,
		failure: { message: 'one\ntwo', stack: `Error: one\n    at f (file://${root}/${file}:1:1)` },
	});
	assert.equal(
		text,
		[
			`unit: ${file}`,
			'  suite > does (it)',
			'    one',
			'    two',
			`    at ${file}:1   import assert from 'node:assert/strict';`,
			`    npm test -- ${file} --name 'suite does \\(it\\)'`,
		].join('\n'),
	);
});

test('a failed acceptance check is rerun with `npm run acceptance`', () => {
	const file = 'test/acceptance/gpu.test.ts';
	assert.equal(commandFor(file, undefined), 'npm run acceptance -- gpu');
	assert.equal(commandFor(file, 'it learns'), "npm run acceptance -- gpu --name 'it learns'");
});

test('the command survives shell quoting, whatever the test name', () => {
	const name = `it's "a" \`b\` $(c) \\d [x] 100%`;
	const command = commandFor('f', name).replace('npm test', 'printf "%s\\n"');
	const printed = execFileSync('sh', ['-c', command], { encoding: 'utf8' }).trimEnd().split('\n');
	const pattern = new RegExp(printed.at(-1) ?? '');
	assert.ok(pattern.test(name), printed.join());
	assert.ok(!pattern.test('its'), printed.join());
});

test('a failed check shows its first error and the command to rerun it', () => {
	const message = 'Exit status 1; its output is in test/artifacts/lint.log\na.test.ts format';
	const text = failureText('lint', '', {
		name: 'the check',
		status: 'failed',
		milliseconds: 0,
		failure: { message, stack: '' },
	});
	assert.equal(
		text,
		'lint\n    Exit status 1; its output is in test/artifacts/lint.log\n    a.test.ts format\n    npm run lint',
	);
});
