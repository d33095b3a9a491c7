import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { count } from '../../runner/outcome.ts';
import { WorkerPool } from '../../runner/pool.ts';
import { processesIn } from '../../scripts/process.ts';

let folder = '';
before(() => {
	folder = mkdtempSync(join(tmpdir(), 'pool-'));
	mkdirSync(join(folder, 'logs'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const open = (namePattern?: string, { graceMs = 10_000, closingMs = 8000 } = {}) =>
	new WorkerPool({
		logs: join(folder, 'logs'),
		name: 'w',
		env: () => ({ POOL_TEST: folder }),
		namePattern,
		showOutput: false,
		graceMs,
		closingMs,
	});

function write(name: string, ...lines: string[]): string {
	const path = join(folder, name);
	writeFileSync(path, ["import { after, before, describe, test } from 'node:test';", ...lines].join('\n'));
	return path;
}

test('results have full names and the pattern that selects them', async () => {
	const pool = open();
	const file = write(
		'names.test.mjs',
		"describe('suite', () => {",
		"	test('passes', () => {});",
		"	test('has parts', async (t) => { await t.test('part', () => { throw new Error('broken part'); }); });",
		"\ttest('is skipped', { skip: 'no reason' }, () => {});",
		'});',
		"describe('all of it', { skip: 'not here' }, () => { test('inside', () => {}); });",
	);
	const { outcomes, usage } = await pool.runFile(file, 20, false);
	await pool.dispose();
	assert.deepEqual(
		outcomes.map(({ name, filter, status, reason, failure }) => [name, filter, status, reason ?? failure?.message]),
		[
			['suite > passes', 'suite passes', 'passed', undefined],
			['suite > has parts > part', 'suite has parts', 'failed', 'broken part'],
			['suite > is skipped', 'suite is skipped', 'skipped', 'no reason'],
			['all of it', 'all of it', 'skipped', 'not here'],
		],
	);
	assert.ok((usage?.own ?? 0) > 0);
});

test('a file without a test that matches the pattern ends without outcomes, and does not affect the next file', async () => {
	const pool = open('wanted');
	const other = write('other.test.mjs', "describe('other', () => { test('one', () => {}); });");
	const wanted = write('chosen.test.mjs', "test('a wanted one', () => {});", "test('another', () => {});");
	const results = [await pool.runFile(other, 20, false), await pool.runFile(wanted, 20, false)];
	await pool.dispose();
	assert.deepEqual(
		results.map(({ outcomes }) => outcomes.map(({ name, status }) => [name, status])),
		[[], [['a wanted one', 'passed']]],
	);
});

test('files in one worker have their own hooks and helpers, and get the same environment', async () => {
	const pool = open();
	writeFileSync(join(folder, 'helper.mjs'), 'export const state = { uses: 0 };\n');
	const first = write(
		'first.test.mjs',
		"before(() => { process.env.LEFT = 'over'; process.env.POOL_TEST = 'changed'; process.chdir('/'); });",
		"test('first', () => {});",
	);
	const second = write(
		'second.test.mjs',
		"import assert from 'node:assert/strict';",
		"test('second', () => {",
		'	assert.equal(process.env.LEFT, undefined);',
		`	assert.equal(process.env.POOL_TEST, ${JSON.stringify(folder)});`,
		"	assert.notEqual(process.cwd(), '/');",
		'});',
	);
	for (const file of [first, second]) {
		const { outcomes } = await pool.runFile(file, 20, false);
		assert.deepEqual(count(outcomes), { passed: 1, failed: 0, skipped: 0 }, JSON.stringify(outcomes));
	}
	await pool.dispose();
});

/** Failure reported for each file that does not end normally. */
const broken: readonly (readonly [what: string, lines: readonly string[], message: RegExp, limits?: object])[] = [
	['does not load', ["import './missing.mjs';", "test('a', () => {});"], /Cannot find module/],
	['has no test', [], /The file has no test/],
	['fails in a hook', ["before(() => { throw new Error('no hook'); });", "test('a', () => {});"], /no hook/],
	['ends its process', ["test('a', () => process.exit(0));"], /process of the file ended before its tests did/],
	['never gives up the processor', ["test('a', () => { for (;;); });"], /did not end within 1 s/, { graceMs: 1000 }],
	[
		'leaves a server behind',
		[
			"import { createServer } from 'node:net';",
			"test('a', () => new Promise((ready) => createServer().listen(0, ready)));",
		],
		/leaves resources open that keep a process alive: TCPServerWrap/,
		{ closingMs: 500 },
	],
];

test('a file that does not end normally is a failure, whatever its tests report', { timeout: 120_000 }, async () => {
	await Promise.all(
		broken.map(async ([what, lines, message, limits], i) => {
			const pool = open(undefined, limits);
			const { outcomes } = await pool.runFile(write(`broken-${i}.test.mjs`, ...lines), 1, false);
			const failures = outcomes.filter(({ status }) => status === 'failed');
			assert.ok(failures.length > 0, what);
			assert.match(failures.map(({ failure }) => failure?.message).join('\n'), message, what);
			await pool.dispose();
		}),
	);
	assert.deepEqual([...processesIn(folder).values()], []);
});

test('a pattern selects tests by their full name', async () => {
	const pool = open('suite second');
	const file = write(
		'pattern.test.mjs',
		"describe('suite', () => { test('first', () => { throw new Error('not asked for'); }); test('second', () => {}); });",
	);
	const { outcomes } = await pool.runFile(file, 20, false);
	await pool.dispose();
	assert.deepEqual(count(outcomes), { passed: 1, failed: 0, skipped: 0 });
});
