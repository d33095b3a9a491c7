import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { RolloutIndex } from '../../../src/rolloutIndex/rolloutIndex.ts';
import { folderFor, runIn, threads } from './ownRun.ts';

/** Statements that must neither run nor leak anything, with the allowed reasons for each. */
const refused: readonly (readonly [sql: string, ...reasons: string[]])[] = [
	["select * from read_csv('/etc/passwd')", 'denied'],
	["select * from read_csv_auto('/etc/passwd')", 'denied'],
	["select * from read_text('/etc/passwd')", 'denied'],
	["select * from read_blob('/etc/passwd')", 'denied'],
	["select * from read_json('/etc/passwd')", 'denied'],
	["select * from read_parquet('/etc/passwd')", 'denied'],
	["select * from read_duckdb('/tmp/other.duckdb')", 'denied'],
	["select * from sniff_csv('/etc/passwd')", 'denied'],
	["select * from glob('/**')", 'denied'],
	["select * from '/etc/passwd'", 'invalid', 'denied'],
	["from 'https://example.org/data.parquet'", 'invalid', 'denied'],
	["select * from parquet_scan('https://example.org/x.parquet')", 'denied'],
	["select (select count(*) from glob('/*'))", 'denied'],
	["with files as (from glob('/*')) select * from files", 'denied'],
	["select * from rollouts where file in (select file from glob('/etc/*'))", 'denied'],
	["copy rollouts to '/tmp/stolen.csv'", 'denied'],
	["copy (select 1) to '/tmp/stolen.csv'", 'denied'],
	["copy run from '/etc/passwd'", 'denied'],
	["export database '/tmp/stolen'", 'denied'],
	["import database '/tmp/stolen'", 'denied', 'invalid'],
	["attach '/tmp/other.duckdb'", 'denied'],
	["attach ':memory:' as other", 'denied'],
	['detach index', 'denied', 'invalid'],
	['install httpfs', 'denied'],
	['load httpfs', 'denied'],
	["load '/tmp/evil.duckdb_extension'", 'denied'],
	['update extensions', 'denied'],
	["set memory_limit='100GB'", 'denied'],
	['set enable_external_access=true', 'denied'],
	['set global lock_configuration=false', 'denied'],
	['reset memory_limit', 'denied'],
	["pragma memory_limit='100GB'", 'denied'],
	['pragma enable_profiling', 'denied'],
	['pragma database_size', 'denied'],
	['call pragma_version()', 'denied'],
	["select getenv('HOME')", 'denied', 'invalid'],
	['create secret stolen (type s3)', 'denied'],
	['select * from duckdb_secrets()', 'denied'],
	["select which_secret('s3://x', 's3')", 'denied', 'invalid'],
	['insert into run select * from run', 'denied'],
	['delete from rollout', 'denied'],
	['update run set label = folder', 'denied'],
	['truncate rollout', 'denied'],
	['merge into run using run as r on run.key = r.key when matched then delete', 'denied'],
	['with gone as (delete from rollout returning *) select * from gone', 'denied', 'invalid'],
	['drop table rollout', 'denied'],
	['drop view rollouts', 'denied'],
	['alter table run add column x int', 'denied'],
	['create table x as select 1', 'denied'],
	['create temp table x as select 1', 'denied'],
	['create or replace view rollouts as select 1', 'denied'],
	["create macro pwn() as table from read_text('/etc/passwd')", 'denied'],
	['create sequence s', 'denied'],
	["comment on table run is 'x'", 'denied'],
	['begin', 'denied'],
	['commit', 'denied'],
	['select 1; drop table rollout', 'denied'],
	['select 1; select 2', 'denied'],
	['explain drop table rollout', 'denied'],
	['explain analyze delete from rollout', 'denied'],
	['explain select 1; delete from rollout', 'denied'],
	['prepare p as delete from rollout', 'denied'],
	['execute p', 'denied'],
	['vacuum', 'denied'],
	['checkpoint', 'denied'],
	['from checkpoint()', 'denied'],
	['from force_checkpoint()', 'denied'],
	['from enable_logging()', 'denied'],
	['select * from truncate_duckdb_logs()', 'denied'],
	["select write_log('x')", 'denied'],
	["select ('x').write_log()", 'denied'],
	['select setseed(0.5)', 'denied'],
	["select nextval('s')", 'denied'],
	['set variable x = 1', 'denied'],
	['use memory', 'denied'],
	["select * from query('select 1')", 'denied'],
	["select * from query_table('run')", 'denied'],
	["from json_execute_serialized_sql(json_serialize_sql('select 1'))", 'denied'],
	['from arrow_scan(1::bigint::pointer, 2::bigint::pointer, 3::bigint::pointer)', 'denied'],
	["from seq_scan('run')", 'denied'],
	["pivot (from read_text('/etc/passwd')) on filename using count(*)", 'denied'],
	['pivot rollouts on split', 'denied', 'invalid'],
	["select * from range(5) t(x), lateral (from read_text('/etc/pass' || 'wd')) f", 'denied'],
	["select list_transform([1], x -> write_log('a'))", 'denied'],
	["/* */ select /* */ 1 /* */ ; /* */ attach 'x'", 'denied'],
	['select sleep_ms(100000)', 'denied'],
	['select 1 \0; drop table rollout', 'invalid'],
	['', 'invalid'],
	['-- nothing', 'invalid'],
	['selec 1', 'invalid', 'denied'],
	['select * from no_such_table', 'invalid'],
	[`select ${'('.repeat(20_000)}1${')'.repeat(20_000)}`, 'invalid'],
];

/** Statements that only read and therefore run. */
const allowed = [
	'select 1',
	'from runs',
	'select * from rollouts limit 3',
	'with a as (select step, reward from rollouts) select step, avg(reward) from a group by all order by all',
	'values (1), (2)',
	'describe rollouts',
	'show tables',
	'summarize select reward from rollouts',
	'explain select * from rollouts',
	"explain analyze select count(*) from rollouts where rewards['accuracy'] = 1",
	'select * from range(3), generate_series(1, 2) g(x)',
	'pivot rollouts on truncated in (true, false) using count(*) group by step',
	'select step, reward, avg(reward) over (partition by group_id) from rollouts qualify row_number() over (order by reward) < 3',
	"select regexp_extract(file, '[0-9]+') from rollouts limit 1",
	'select histogram(reward) from rollouts',
	'select random() < 2',
	'select * from duckdb_columns() limit 1',
	'select 1; ',
	'/* a comment */ select 1 -- and another',
];

const limits = { limit: 1000, timeoutMs: 10_000 };

describe('SQL from users', () => {
	let rolloutIndex: RolloutIndex;
	let storage: string;
	let count: unknown;
	const cleanup: (() => unknown)[] = [];

	before(async () => {
		const folder = await folderFor({ after: (done: () => unknown) => cleanup.push(done) } as never);
		storage = join(folder, 'index');
		rolloutIndex = await RolloutIndex.open({ storage, sharedThreads: threads });
		await rolloutIndex.index(await runIn(join(folder, 'run')));
		count = (await rolloutIndex.sql({ sql: 'select count(*) from rollouts', limit: 1 })).rows[0]?.[0];
		assert.equal(count, 60);
	});
	after(async () => {
		await rolloutIndex.close();
		for (const done of cleanup) await done();
	});

	for (const [sql, ...reasons] of refused) {
		it(`is rejected: ${sql.slice(0, 90).replaceAll('\0', '\\0')}`, async () => {
			await assert.rejects(rolloutIndex.sql({ sql, ...limits }), (error) => {
				assert.ok(error instanceof Failure, String(error));
				assert.ok(reasons.includes(error.reason), `${error.reason}: ${error.message}`);
				return true;
			});
		});
	}

	for (const sql of allowed) {
		it(`runs: ${sql}`, async () => {
			const table = await rolloutIndex.sql({ sql, ...limits });
			assert.ok(table.columns.length > 0);
		});
	}

	it('changes nothing and leaves nothing behind', async () => {
		const { rows } = await rolloutIndex.sql({ sql: 'select count(*) from rollouts', limit: 1 });
		assert.equal(rows[0]?.[0], count);
		assert.deepEqual(
			(await readdir(storage)).filter((name) => !/^index\.(duckdb(\.wal)?|spill)$/.test(name)),
			[],
		);
	});

	it('is streamed, so an endless result is truncated at the limit', async () => {
		const table = await rolloutIndex.sql({ sql: 'select * from range(1000000000000)', limit: 10 });
		assert.equal(table.rows.length, 10);
		assert.equal(table.truncated, true);
	});

	it('is stopped at its time limit', async () => {
		for (const sql of [
			'select count(*) from range(1000000000000)',
			'with recursive x as (select 1 a union all select a + 1 from x) select count(*) from x',
			'select sum(a.range * b.range) from range(10000000) a, range(10000000) b',
		]) {
			await assert.rejects(rolloutIndex.sql({ sql, limit: 1, timeoutMs: 300 }), { reason: 'timeout' }, sql);
		}
		assert.deepEqual((await rolloutIndex.sql({ sql: 'select 1', limit: 1 })).rows, [[1]]);
	});

	it('is stopped when canceled', async () => {
		const controller = new AbortController();
		const asked = rolloutIndex.sql({ sql: 'select count(*) from range(1000000000000)', limit: 1 }, controller.signal);
		setTimeout(() => controller.abort(), 100);
		await assert.rejects(asked, { reason: 'cancelled' });
	});

	it('is stopped at its memory limit', async () => {
		await assert.rejects(rolloutIndex.sql({ sql: 'select list(range) from range(300000000)', limit: 1 }), {
			reason: 'full',
		});
		assert.deepEqual((await rolloutIndex.sql({ sql: 'select 1', limit: 1 })).rows, [[1]]);
	});

	it('supports parameters and reports a missing one', async () => {
		const asked = { sql: 'select $a || $b as x', limit: 1, parameters: { a: "'; drop table run; --", b: 'x' } };
		assert.deepEqual((await rolloutIndex.sql(asked)).rows, [["'; drop table run; --x"]]);
		await assert.rejects(rolloutIndex.sql({ sql: 'select $a', limit: 1 }), { reason: 'invalid', message: /\$a/ });
	});

	it('returns values that JSON can represent', async () => {
		const sql = `select 9007199254740993 as big, 1.5::decimal(4, 2) as d, 'NaN'::double as nan, null as n, [1, 2] as l,
			map {'a': 1} as m, date '2026-01-02' as day, true as b, 'ü\u0000' as t, '\\xAA'::blob as raw`;
		const { rows } = await rolloutIndex.sql({ sql: sql.replace('\u0000', ''), limit: 1 });
		assert.deepEqual(rows[0], [
			'9007199254740993',
			1.5,
			'NaN',
			null,
			'[1, 2]',
			"{'a': 1}",
			'2026-01-02',
			true,
			'ü',
			'\\xAA',
		]);
	});

	it('cannot escape a filter', async () => {
		for (const where of [
			"1=1) union select * from read_text('/etc/passwd') --",
			"exists (from glob('/*'))",
			'1=1); drop table run; --',
		]) {
			await assert.rejects(rolloutIndex.rollouts({ filter: { where }, limit: 1 }), (error) => {
				return error instanceof Failure && (error.reason === 'denied' || error.reason === 'invalid');
			});
		}
		const column = "accuracy'] or true or rewards['x";
		const { rows } = await rolloutIndex.rollouts({
			filter: { ranges: [{ column: `rewards.${column}`, from: 0 }] },
			limit: 100,
		});
		assert.deepEqual(rows, []);
	});
});
