import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { MetricTable, maxColumns } from '../../../../src/core/metrics/metricTable.ts';
import { pickRows } from '../../../../src/core/metrics/pickRows.ts';
import type { MetricsLine } from '../../../../src/protocol/metricsLine.ts';

const line = (step: number, values: Record<string, number | null>, stage = 'grpo'): MetricsLine => ({
	step,
	time: 1000 + step,
	stage,
	values,
});

const column = (table: MetricTable, name: string): (number | null)[] =>
	[...(table.column(name) ?? [])].map((value) => (Number.isNaN(value) ? null : value));

describe('metric table', () => {
	it('has one row per step, with NaN where a metric has no value', () => {
		const table = new MetricTable();
		assert.equal(
			table.append([line(1, { loss: 2 }, 'sft'), line(2, { loss: 1, reward: null }), line(3, { reward: 0.5 })]),
			0,
		);
		assert.deepEqual([...table.step], [1, 2, 3]);
		assert.deepEqual(column(table, 'loss'), [2, 1, null]);
		assert.deepEqual(column(table, 'reward'), [null, null, 0.5]);
		assert.deepEqual(table.names, ['loss', 'reward']);
		assert.deepEqual([table.count('loss'), table.count('reward'), table.count('kl')], [2, 1, 0]);
		assert.deepEqual([table.stageAt(0), table.stageAt(2), table.stageAt(3)], ['sft', 'grpo', undefined]);
		assert.equal(table.lastRow('loss'), 1);
		assert.equal(table.lastRow('kl'), -1);
		assert.equal(table.column('kl'), undefined);
	});

	it('shows every step once when later steps are superseded', () => {
		const table = new MetricTable();
		table.append([1, 2, 3, 4, 5].map((step) => line(step, { reward: step })));
		assert.equal(table.append([line(3, { reward: 30 }), line(4, { reward: 40 })]), 2);
		assert.deepEqual([...table.step], [1, 2, 3, 4]);
		assert.deepEqual(column(table, 'reward'), [1, 2, 30, 40]);
		assert.equal(table.count('reward'), 4);
		// Values of the discarded rows must not reappear when the table grows again.
		table.append([line(5, {}), line(6, {})]);
		assert.deepEqual(column(table, 'reward'), [1, 2, 30, 40, null, null]);
	});

	it('merges a second line for the latest step into its row', () => {
		const table = new MetricTable();
		table.append([line(1, { reward: 1 }), line(2, { reward: 2 })]);
		assert.equal(table.append([line(2, { 'eval/heldout/accuracy': 0.5 })]), 1);
		assert.equal(table.length, 2);
		assert.deepEqual(column(table, 'eval/heldout/accuracy'), [null, 0.5]);
	});

	it('treats single values like lines with one value', () => {
		const [lines, values] = [new MetricTable(), new MetricTable()];
		assert.equal(values.lastStep, null);
		const put = (step: number, name: string, value: number | null) => {
			lines.append([line(step, { [name]: value })]);
			values.put(step, 1000 + step, 'grpo', name, value);
		};
		put(1, 'loss', 2);
		put(1, 'reward', null);
		put(4, 'reward', 0.5);
		put(4, 'loss', 1);
		put(4, 'loss', 3);
		assert.deepEqual(values.chunk(0, 2), lines.chunk(0, 2));
		assert.deepEqual(values.names, lines.names);
		assert.equal(values.lastStep, 4);
	});

	it('merges values by step, into an existing or a new row', () => {
		const table = new MetricTable();
		table.append([line(2, { reward: 2 }), line(4, { reward: 4 })]);
		assert.equal(table.merge(4, 0, 'grpo', { accuracy: 0.4 }), 1);
		assert.equal(table.merge(3, 1003, 'grpo', { accuracy: 0.3 }), 1);
		assert.equal(table.merge(0, 1000, 'sft', { accuracy: 0.1 }), 0);
		assert.deepEqual([...table.step], [0, 2, 3, 4]);
		assert.deepEqual(column(table, 'accuracy'), [0.1, null, 0.3, 0.4]);
		assert.deepEqual(column(table, 'reward'), [null, 2, null, 4]);
		assert.equal(table.stageAt(0), 'sft');
		assert.equal(table.stageAt(3), 'grpo');
	});

	it('ignores non-numeric steps and limits the number of columns', () => {
		const table = new MetricTable();
		table.append([line(Number.NaN, { reward: 1 }), line(Number.POSITIVE_INFINITY, { reward: 1 })]);
		assert.equal(table.length, 0);
		const many = Object.fromEntries(Array.from({ length: maxColumns + 5 }, (_, i) => [`m${i}`, i]));
		table.append([line(1, many)]);
		assert.equal(table.names.length, maxColumns);
		assert.equal(table.droppedNames, 5);
	});

	it('is identical on the receiving side for any sequence of chunks', () => {
		for (let seed = 0; seed < 60; seed++) {
			const random = Random.of(seed, 'chunks');
			const here = new MetricTable();
			const there = new MetricTable();
			let sent = 0;
			let step = 0;
			for (let round = 0; round < 12; round++) {
				const lines: MetricsLine[] = [];
				for (let i = random.int(40); i > 0; i--) {
					step = random.next() < 0.05 ? Math.max(0, step - random.int(20)) : step + 1 + random.int(2);
					const values: Record<string, number | null> = {};
					for (const name of ['a', 'b', 'c', 'd']) if (random.next() < 0.6) values[name] = random.normal();
					if (random.next() < 0.2) values.e = null;
					lines.push(line(step, values, random.next() < 0.5 ? 'sft' : 'grpo'));
				}
				sent = Math.min(sent, here.append(lines));
				if (random.next() < 0.3) sent = Math.min(sent, here.merge(random.int(step + 2), 5, 'grpo', { late: round }));
				step = here.step.at(-1) ?? 0;
				while (sent < here.length) {
					const to = Math.min(here.length, sent + 1 + random.int(20));
					assert.equal(there.applyChunk(here.chunk(sent, to)), true);
					sent = to;
				}
				assert.deepEqual([...there.step], [...here.step], `seed ${seed}`);
				assert.deepEqual([...there.time], [...here.time]);
				for (const name of here.names) {
					if (here.count(name) === 0) continue;
					assert.deepEqual(column(there, name), column(here, name), `${name}, seed ${seed}`);
					assert.equal(there.count(name), here.count(name), `count of ${name}, seed ${seed}`);
				}
				for (let row = 0; row < here.length; row++) assert.equal(there.stageAt(row), here.stageAt(row));
			}
		}
	});

	it('rejects a chunk that does not fit, without changing anything', () => {
		const table = new MetricTable();
		table.append([line(1, { a: 1 })]);
		const source = new MetricTable();
		source.append([1, 2, 3, 4].map((step) => line(step, { a: step })));
		const chunk = source.chunk(2, 4);
		assert.equal(table.applyChunk(chunk), false);
		assert.equal(table.applyChunk({ ...source.chunk(1, 3), time: new Float64Array(1) }), false);
		assert.equal(table.applyChunk({ ...source.chunk(1, 3), values: [] }), false);
		assert.deepEqual(column(table, 'a'), [1]);
		table.clear();
		assert.deepEqual([table.length, table.names.length, table.stages.length], [0, 0, 0]);
	});
});

describe('the rows selected for drawing', () => {
	it('contain every extreme of every column and both ends, within the requested number', () => {
		for (let seed = 0; seed < 40; seed++) {
			const random = Random.of(seed, 'rows');
			const length = 500 + random.int(5000);
			const columns = Array.from({ length: 1 + random.int(3) }, () => {
				const values = Float64Array.from({ length }, () => (random.next() < 0.3 ? Number.NaN : random.normal()));
				values[random.int(length)] = 1e6;
				values[random.int(length)] = -1e6;
				return values;
			});
			const buckets = 20 + random.int(80);
			const from = random.int(50);
			const to = length - random.int(50);
			const rows = pickRows(columns, from, to, buckets);
			assert.ok(rows.every((row, i) => row >= from && row < to && (i === 0 || row > (rows[i - 1] as number))));
			assert.ok(rows.length <= columns.length * (2 * buckets + 2) + 2, `${rows.length} rows of ${buckets} buckets`);
			assert.equal(rows[0], from);
			assert.equal(rows.at(-1), to - 1);
			const picked = new Set(rows);
			for (const column of columns) {
				const inRange = [...column.subarray(from, to)];
				const finite = inRange.filter((value) => !Number.isNaN(value));
				for (const extreme of [Math.min(...finite), Math.max(...finite)]) {
					assert.ok(
						[...picked].some((row) => column[row] === extreme),
						`seed ${seed} lost ${extreme}`,
					);
				}
				assert.ok(picked.has(from + inRange.findIndex((value) => !Number.isNaN(value))));
				assert.ok(picked.has(from + inRange.findLastIndex((value) => !Number.isNaN(value))));
			}
		}
	});

	it('are all rows if there are few', () => {
		const values = Float64Array.from({ length: 20 }, (_, i) => i);
		assert.deepEqual([...pickRows([values], 5, 15, 5)], [5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
		assert.equal(pickRows([values], 3, 3, 5).length, 0);
	});
});
