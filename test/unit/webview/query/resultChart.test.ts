import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResultTable } from '../../../../src/protocol/rolloutIndex.ts';
import { describeDataChart, pathOf } from '../../../../webview/lib/charts/dataChart.ts';
import { chartOf, firstChoice, maxCategories, maxSeries, resultChart } from '../../../../webview/query/resultChart.ts';

const tableOf = (columns: readonly (readonly [string, string])[], rows: ResultTable['rows']): ResultTable => ({
	columns: columns.map(([name, type]) => ({ name, type })),
	rows,
	truncated: false,
	refs: null,
	millis: 1,
});
const columns = [
	['step', 'BIGINT'],
	['reward', 'DOUBLE'],
	['run', 'VARCHAR'],
] as const;
const line = { kind: 'line', x: 'step', y: 'reward', by: null } as const;

test('rows are ordered by x, and an unknown value is a gap, never zero', () => {
	const table = tableOf(columns, [
		[3, 0.3, 'a'],
		[1, 0.1, 'a'],
		[2, null, 'a'],
		[null, 0.9, 'a'],
		[4, 'NaN', 'a'],
		[5, 0.5, 'a'],
	]);
	const { chart, notes } = resultChart(table, line);
	const [series] = chart.series;
	assert.ok(series);
	assert.deepEqual(series.x, [1, 2, 3, 4, 5, null]);
	assert.deepEqual(series.y, [0.1, null, 0.3, null, 0.5, 0.9]);
	const same = (value: number) => value;
	assert.equal(pathOf(series, same, same), 'M1,0.1M3,0.3M5,0.5');
	assert.deepEqual(notes, ['3 of 6 rows have no value and are not drawn.']);
	assert.match(
		describeDataChart(chart),
		/^Line chart of reward by step: 3 points in 1 series, 3 rows without a value$/,
	);
});

test('a column can define the series, and a text column the categories, up to a limit that is reported', () => {
	const rows = Array.from({ length: 300 }, (_, i) => [i % 3, String(2n ** 60n), `run ${i}`]) as ResultTable['rows'];
	const bySeries = resultChart(tableOf(columns, rows), { ...line, by: 'run' });
	assert.equal(bySeries.chart.series.length, maxSeries);
	assert.equal(bySeries.chart.series[0]?.y[0], 2 ** 60);
	assert.deepEqual(bySeries.notes, ['Only the first 8 values of run are shown; 292 rows are omitted.']);
	const categories = resultChart(tableOf(columns, rows), { ...line, kind: 'bar', x: 'run' });
	assert.equal(categories.chart.categories?.length, maxCategories);
	assert.deepEqual(categories.notes, ['Only the first 200 values of run are shown; 100 rows are omitted.']);
	const nulls = resultChart(tableOf(columns, [[1, 1, null]]), { ...line, kind: 'bar', x: 'run', by: 'run' });
	assert.deepEqual([nulls.chart.categories, nulls.chart.series[0]?.label], [['null'], 'null']);
});

test('a choice is kept while the result has its columns', () => {
	const table = tableOf(columns, [[1, 1, 'a']]);
	assert.deepEqual(firstChoice(table), line);
	assert.deepEqual(firstChoice(tableOf([columns[2], columns[1]], [])), {
		kind: 'bar',
		x: 'run',
		y: 'reward',
		by: null,
	});
	assert.equal(firstChoice(tableOf([columns[2]], [])), null);
	const answer = { kind: 'table', question: { kind: 'sql', sql: '', sort: null }, table } as const;
	assert.deepEqual(chartOf(answer, line), line);
	assert.equal(chartOf(answer, { ...line, y: 'run' }), null);
	assert.equal(chartOf(answer, { ...line, by: 'gone' }), null);
	assert.equal(chartOf(null, line), null);
});
