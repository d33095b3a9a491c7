import assert from 'node:assert/strict';
import { appendFile, cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { csvLines, tableLines } from '../../../src/cli/queryVerb.ts';
import { makeRolloutFolder } from '../../bench/rolloutFolder.ts';
import { fixtureFolder } from '../runs/importers/foreignFixtures.ts';
import { objects, Workplace } from './cliFixtures.ts';

interface Summary {
	readonly columns: readonly { readonly name: string }[];
	readonly rows: readonly unknown[][];
	readonly truncated: boolean;
	readonly runs: readonly { readonly run: string; readonly state: string; readonly skipped: number }[];
}
const summaryOf = (stdout: string) => objects(stdout)[0] as unknown as Summary;

test('query covers the runs in a folder from any trainer and updates its index', async (context) => {
	const place = await Workplace.make(context);
	await makeRolloutFolder(join(place.folder, 'mine'), { rollouts: 60, perGroup: 4, groups: 5, bytes: 900 });
	await cp(fixtureFolder('verl'), join(place.folder, 'deep', 'verl'), { recursive: true });
	const sql = 'select format, rollouts from runs order by format';
	const first = await place.run(context, 'query', place.folder, sql, '--json');
	assert.equal(first.status, 0, first.stderr);
	assert.deepEqual(summaryOf(first.stdout).rows, [
		['reasoning-lab', 60],
		['verl', 108],
	]);
	assert.deepEqual(
		summaryOf(first.stdout).runs.map(({ state }) => state),
		['ready', 'ready'],
	);
	const line =
		'{"step":3,"stage":"grpo","group":9,"index":0,"prompt":"p","completion":"c","rewards":{},"reward":null,"advantage":null,"truncated":false}';
	await appendFile(join(place.folder, 'mine', 'rollouts', 'step_000003.jsonl'), `${line}\nnot a rollout\n`);
	const second = await place.run(context, 'query', place.folder, sql, '--json');
	assert.deepEqual(summaryOf(second.stdout).rows[0], ['reasoning-lab', 61]);
	assert.match(
		second.stderr,
		/mine: could not read 1 record \(rollouts\/step_000003\.jsonl at byte \d+: invalid JSON\)/,
	);
	// Query a single run, with table and CSV output.
	const table = await place.run(
		context,
		'query',
		join(place.folder, 'mine'),
		'select step, count(*) as n from rollouts group by step order by step',
	);
	assert.equal(table.stdout, 'step   n\n────  ──\n   1  20\n   2  20\n   3  21\n');
	const csv = await place.run(context, 'query', 'mine', `select 'a,"b' as x, null as y`, '--csv', '--no-index');
	assert.equal(csv.stdout, 'x,y\n"a,""b",\n');
	const limited = await place.run(context, 'query', 'mine', 'select step from rollouts', '--limit', '2', '--csv');
	assert.equal(limited.stdout.split('\n').length, 4);
	assert.match(limited.stderr, /Only 2 rows are shown/);
	assert.deepEqual((await readdir(join(place.folder, 'mine'))).sort(), ['metrics.jsonl', 'rollouts', 'run.json']);
});

test('query rejects statements that write and folders without runs with status 2', async (context) => {
	const place = await Workplace.make(context);
	await makeRolloutFolder(join(place.folder, 'run'), { rollouts: 20, perGroup: 4, groups: 5, bytes: 900 });
	const bad: readonly (readonly [args: readonly string[], message: RegExp])[] = [
		[['run', 'drop view rollouts'], /Only read-only statements are allowed/],
		[['run'], /needs a statement/],
		[['nowhere', 'select 1'], /nowhere/],
		[['run', 'select 1', '--limit', 'x'], /not an integer/],
	];
	for (const [args, message] of bad) {
		const { status, stderr, stdout } = await place.call('query', ...args);
		assert.equal(status, 2, `${args}: ${stderr}`);
		assert.match(stderr, message);
		assert.equal(stdout, '');
	}
	const slow = await place.run(context, 'query', 'run', 'select count(*) from range(1000000000000)', '--timeout', '1');
	assert.equal(slow.status, 1);
	assert.match(slow.stderr, /longer than 1 s/);
	await mkdir(join(place.folder, 'empty'));
	const { status, stderr } = await place.call('query', 'empty', 'select 1');
	assert.equal(status, 2);
	assert.match(stderr, /does not contain a run\. Looked for: run\.json/);
	await writeFile(join(place.folder, 'run', 'run.json'), '{');
	const broken = await place.run(context, 'query', 'run', 'select count(*) from rollouts');
	assert.equal(broken.status, 1);
	assert.match(broken.stderr, /Cannot read/);
});

test('tables are aligned, and cells cannot control a terminal', () => {
	const columns = [
		{ name: 'name', type: 'VARCHAR' },
		{ name: 'x', type: 'DOUBLE' },
	];
	const rows = [
		['\u001b[31mred\nline', 1 / 3],
		[null, 20],
	];
	assert.deepEqual(
		[...tableLines({ columns, rows })],
		['name                  x', '─────────────  ────────', ' [31mred line  0.333333', '-                    20'],
	);
	assert.deepEqual([...csvLines({ columns, rows: [['a\nb', 0.1]] })], ['name,x', '"a\nb",0.1']);
	const cells = ['=HYPERLINK("http://h")', '@SUM(1)', '+1+cmd', '-5', '+1e3', '- no', 'a=b'].map((text) => [text, -1]);
	assert.deepEqual([...csvLines({ columns, rows: cells })].slice(1), [
		`"'=HYPERLINK(""http://h"")",-1`,
		"'@SUM(1),-1",
		"'+1+cmd,-1",
		'-5,-1',
		'+1e3,-1',
		"'- no,-1",
		'a=b,-1',
	]);
});
