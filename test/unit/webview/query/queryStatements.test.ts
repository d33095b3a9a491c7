import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { DuckDBConnection } from '@duckdb/node-api';
import { errorPlace, errorWords } from '../../../../webview/query/errorPlace.ts';
import { examples } from '../../../../webview/query/examples.ts';
import { faultOf, filterOf, groupedSorts, numberOf, quoteName, sqlOf } from '../../../../webview/query/formSql.ts';
import {
	type Condition,
	emptyForm,
	formColumns,
	type Operator,
	operatorsOf,
	type QueryForm,
} from '../../../../webview/query/queryForm.ts';
import { bins, histogramOf, histogramSql, sortedSql, withoutEnd } from '../../../../webview/query/statements.ts';
import { queryTables, rowsOf } from './queryTables.ts';

const columns = formColumns(['accuracy', 'it\'s "odd"']);
const condition = (column: string, operator: Operator, value = '', to = ''): Condition => ({
	column,
	operator,
	value,
	to,
});
const form = (changes: Partial<QueryForm>): QueryForm => ({ ...emptyForm, ...changes });

describe('query view statements', () => {
	let database: DuckDBConnection;
	before(async () => {
		database = await queryTables();
	});
	const rows = (sql: string) => rowsOf(database, sql);
	const count = async (...conditions: Condition[]) => (await rows(sqlOf(form({ conditions }), null, columns))).length;

	it('generated from the form filter by each type of column', async () => {
		assert.equal(await count(), 240);
		assert.equal(await count(condition('reward', '>=', '0.5')), 90);
		assert.equal(await count(condition('reward', 'between', '20 %', '0,4')), 90);
		assert.equal(await count(condition('rewards.accuracy', '=', '1'), condition('step', '<=', '2')), 80);
		assert.equal(await count(condition('rewards.it\'s "odd"', '<=', '.01')), 60);
		assert.equal(await count(condition('correct', 'is'), condition('truncated', 'not')), 108);
		assert.equal(await count(condition('advantage', 'null')), 80);
		assert.equal(await count(condition('advantage', 'set')), 160);
		assert.equal(await count(condition('advantage', '!=', '0.5')), 220, 'a missing value is not 0.5 either');
		assert.equal(await count(condition('run', '=', 'a'), condition('prompt_hash', '!=', 'hash1')), 96);
		assert.equal(await count(condition('prompt_hash', '=', "x' OR true --")), 0);
	});

	it('skip incomplete conditions, and report non-numeric values', async () => {
		assert.equal(
			await count(condition('reward', '>='), condition('reward', 'between', '0.5'), condition('run', '=')),
			240,
		);
		assert.equal(faultOf(condition('reward', '>=', 'half'), 'number'), '"half" is not a number.');
		assert.equal(faultOf(condition('reward', 'between', '1', '2x'), 'number'), '"2x" is not a number.');
		assert.equal(faultOf(condition('reward', '>=', ' '), 'number'), null);
		assert.equal(faultOf(condition('run', '=', 'half'), 'text'), null);
		for (const text of ['1e999', '0x10', '--1', '1;', 'NaN', '']) assert.equal(numberOf(text), null, text);
		assert.deepEqual(['-1', '1e3', '+.5', '50%'].map(numberOf), [-1, 1000, 0.5, 0.5]);
	});

	it('are limited to the selected runs', async () => {
		assert.equal(
			(await rows(sqlOf(emptyForm, ["/runs/b's"], columns))).every(({ run }) => run === 'b'),
			true,
		);
		assert.equal((await rows(sqlOf(emptyForm, ['/runs/a', "/runs/b's"], columns))).length, 240);
		assert.deepEqual(filterOf(form({ conditions: [condition('reward', '>=', '1')] }), ['/runs/a'], columns), {
			runs: ['/runs/a'],
			where: '"reward" >= 1',
		});
		assert.deepEqual(filterOf(emptyForm, null, columns), {});
	});

	it('work for every column, operator and order in the form', async () => {
		for (const { id, kind } of columns) {
			for (const operator of operatorsOf[kind]) {
				const conditions = [condition(id, operator, '1', '2')];
				const sql = sqlOf(form({ conditions, sort: { column: id, descending: true } }), null, columns);
				const found = await rows(sql);
				assert.ok(found.length <= 240, sql);
			}
		}
	});

	it('group, average and sort, and each group references one of its rollouts', async () => {
		const steps = await rows(
			sqlOf(form({ groupBy: ['run', 'step'], sort: { column: 'reward', descending: false } }), null, columns),
		);
		assert.equal(steps.length, 6);
		assert.deepEqual([steps[0]?.rollouts, steps[0]?.correct_share], [40, 0.5]);
		assert.ok(Math.abs((steps[0]?.reward_mean as number) - 0.35) < 1e-12);
		const groups = await rows(sqlOf(form({ groupBy: ['group_id'], measure: 'correct' }), null, columns));
		assert.equal(groups.length, 30);
		assert.deepEqual(Object.keys(groups[0] ?? {}).slice(0, 7), [
			'run',
			'split',
			'step',
			'group_id',
			'index',
			'rollouts',
			'correct_mean',
		]);
		for (const { id } of columns.filter(({ kind }) => kind !== 'text')) {
			const grouped = form({ groupBy: ['stage'], measure: id });
			for (const column of groupedSorts(grouped)) {
				assert.equal((await rows(sqlOf({ ...grouped, sort: { column, descending: true } }, null, columns))).length, 1);
			}
		}
		const odd = await rows(sqlOf(form({ groupBy: ['rewards.it\'s "odd"'] }), null, columns));
		assert.equal(odd.length, 8);
	});

	it('can be sorted by an outer query, whatever they end with', async () => {
		for (const end of ['', ';', ' ;; \n', ' -- the end', '; -- the; end', ' /* the end */;', '; /* a */ ; -- b']) {
			const sql = sortedSql(`SELECT step, ';--' AS t, reward AS "a ""b" FROM rollouts${end}`, {
				column: 'a "b',
				descending: true,
			});
			assert.equal((await rows(sql))[0]?.['a "b'], 0.7, end);
		}
		assert.equal(withoutEnd("SELECT ';' -- it's; not the end\n, 1;"), "SELECT ';' -- it's; not the end\n, 1");
		assert.equal(withoutEnd('SELECT 1; SELECT 2;'), 'SELECT 1; SELECT 2');
		assert.equal(withoutEnd('SELECT $a$;$a$; --'), 'SELECT $a$;$a$');
		assert.equal(sortedSql('SELECT 1', null), 'SELECT 1');
		assert.equal(
			(await rows(sortedSql('DESCRIBE rollouts', { column: 'column_name', descending: false }))).length > 10,
			true,
		);
	});

	it('count values in bins, each row once', async () => {
		const histogram = async (sql: string, column: string) =>
			histogramOf((await rows(histogramSql(sql, column))).map((row) => Object.values(row)));
		const reward = await histogram('SELECT * FROM rollouts;', 'reward');
		assert.equal(reward.bins.length, bins);
		assert.equal(
			reward.bins.reduce((sum, bin) => sum + bin.rows, 0),
			240,
		);
		assert.deepEqual(
			[reward.bins[0]?.low, reward.bins[0]?.rows, reward.bins.at(-1)?.high, reward.bins.at(-1)?.rows],
			[0, 30, 0.7, 30],
		);
		const step = await histogram('FROM rollouts', 'step');
		assert.deepEqual(step, {
			bins: [1, 2, 3].map((n) => ({ low: n - 0.5, high: n + 0.5, rows: 80 })),
			without: 0,
			whole: true,
		});
		const advantage = await histogram('FROM rollouts', 'advantage');
		assert.equal(advantage.without, 80);
		const correct = await histogram('FROM rollouts', 'correct');
		assert.deepEqual(
			correct.bins.map((bin) => bin.rows),
			[120, 120],
		);
		assert.deepEqual(await histogram('SELECT 3.25 AS x FROM range(5)', 'x'), {
			bins: [{ low: 3.25, high: 3.25, rows: 5 }],
			without: 0,
			whole: false,
		});
		assert.deepEqual(await histogram("SELECT 'nan'::DOUBLE AS x UNION ALL SELECT 'inf'::DOUBLE", 'x'), {
			bins: [],
			without: 2,
			whole: false,
		});
		assert.deepEqual(await histogram('SELECT 1 AS x WHERE false', 'x'), { bins: [], without: 0, whole: false });
	});

	it('from the examples run', async () => {
		for (const { title, sql } of examples) assert.ok(Array.isArray(await rows(sql)), title);
	});

	it('with errors are marked at the position DuckDB reports', async () => {
		const placeIn = async (sql: string): Promise<string | null> => {
			try {
				await rows(sql);
			} catch (error) {
				const place = errorPlace((error as Error).message, sql);
				assert.doesNotMatch(errorWords((error as Error).message), /LINE|\^/);
				return place && `${place.line}: ${sql.slice(place.start, place.end)}`;
			}
			return 'no error';
		};
		assert.equal(await placeIn('SELECT *\nFROM rollout\nWHERE 1'), '2: rollout');
		assert.equal(await placeIn('SELECT rewrd FROM rollouts'), '1: rewrd');
		assert.equal(await placeIn(`SELECT step,\n\t\tfoo(1) FROM rollouts`), '2: foo');
		assert.equal(
			await placeIn(`SELECT ${'reward + '.repeat(60)} rewrd, ${'step, '.repeat(60)} 1 FROM rollouts`),
			'1: rewrd',
		);
		assert.equal(await placeIn("SELECT '漢字', 'e\u0301', foo FROM rollouts"), '1: foo');
		assert.equal(await placeIn('SELECT é, "ü" FROM rollouts'), '1: é');
		assert.equal(errorPlace('Out of Memory Error: failed', 'SELECT 1'), null);
		assert.equal(errorPlace('LINE 9: SELECT\n        ^', 'SELECT 1'), null);
		assert.equal(quoteName('a"b'), '"a""b"');
	});
});
