import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Heap } from '../../../../src/base/heap.ts';
import { Random } from '../../../../src/base/random.ts';
import { MetricTable } from '../../../../src/core/metrics/metricTable.ts';
import type { MetricsLine } from '../../../../src/protocol/metricsLine.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import type { RunContent } from '../../../../src/runs/runContent.ts';
import { writeFiles } from './madeRun.ts';

let folder = '';
beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), 'metrics-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const rollouts = { '1.jsonl': [{ input: 'p', output: 'o', gts: '1', score: 1, step: 1 }] };
const logged = (step: number, data: object) => ({ step, data });

async function metricsOf(run: RunContent): Promise<MetricsLine[]> {
	const all: MetricsLine[] = [];
	for await (const lines of run.metrics()) all.push(...lines);
	return all;
}

function rowsOf(table: MetricTable) {
	return Array.from(table.step, (step, row) => ({
		step,
		time: table.time[row],
		stage: table.stageAt(row),
		values: table.names.map((name) => `${name} ${table.value(name, row)}`).sort(),
	}));
}

describe('external metrics', () => {
	it('are complete for concurrent readers', async () => {
		const rows = Array.from({ length: 20_000 }, (_, i) => logged(i + 1, { 'actor/entropy': i, note: i % 7 }));
		await writeFiles(folder, { ...rollouts, 'metrics/a.jsonl': rows });
		const run = await openRun(folder);
		const [one, , other] = await Promise.all([metricsOf(run), run.record(), metricsOf(run), run.newest()]);
		assert.equal(one.length, rows.length);
		assert.deepEqual(other, one);
	});

	it('are sorted, whatever order they were written in, and later rows take precedence', async () => {
		const random = Random.of(11);
		const rows = Array.from({ length: 3000 }, () => logged(random.int(700), { [`m${random.int(5)}`]: random.next() }));
		await writeFiles(folder, { ...rollouts, 'metrics/a.jsonl': rows });
		const expected = new Map<number, Record<string, number>>();
		for (const { step, data } of rows) expected.set(step, { ...expected.get(step), ...(data as object) });
		const read = await metricsOf(await openRun(folder));
		assert.deepEqual(
			read.map(({ step, values }) => [step, values]),
			[...expected].sort(([a], [b]) => a - b),
		);
	});

	it('from several files are merged by step, and within a step in file order', async () => {
		const files = Object.fromEntries(
			Array.from({ length: 60 }, (_, i) => [
				`metrics/log${String(i).padStart(3, '0')}.jsonl`,
				[logged(i, { own: i, shared: i }), logged(i + 1, { own: i + 0.5, shared: i }), logged(100, { shared: i })],
			]),
		);
		await writeFiles(folder, { ...rollouts, ...files });
		const read = await metricsOf(await openRun(folder));
		assert.deepEqual(
			read.map(({ step }) => step),
			[...Array.from({ length: 61 }, (_, i) => i), 100],
		);
		assert.equal(read[30]?.values.shared, 30);
		assert.equal(read.at(-1)?.values.shared, 59);
	});
});

describe('rows for earlier steps', () => {
	it('give the same table whether merged together or one by one', () => {
		for (let seed = 0; seed < 40; seed++) {
			const random = Random.of(seed);
			const [together, single] = [new MetricTable(), new MetricTable()];
			const line = (step: number) => ({
				step,
				time: random.int(1000),
				stage: `s${random.int(3)}`,
				values: { [`m${random.int(6)}`]: random.next(), all: step },
			});
			const first = Array.from({ length: random.int(30) }, (_, i) => line(i * 3));
			for (const table of [together, single]) table.append(first);
			for (let round = 0; round < 4; round++) {
				const late = Array.from({ length: random.int(40) }, () => line(random.int(100)));
				late.sort((a, b) => a.step - b.step);
				for (const { step, time, stage, values } of late) single.merge(step, time, stage, values);
				together.mergeAll(late);
				assert.deepEqual(rowsOf(together), rowsOf(single), `seed ${seed}`);
				for (const name of single.names) assert.equal(together.count(name), single.count(name));
			}
		}
	});
});

describe('a heap', () => {
	it('returns everything in order', () => {
		const random = Random.of(3);
		for (let size = 0; size < 50; size++) {
			const heap = new Heap<number>((a, b) => a - b);
			const items = Array.from({ length: size }, () => random.int(20));
			for (const item of items) heap.push(item);
			const taken: number[] = [];
			for (let next = heap.pop(); next !== undefined; next = heap.pop()) taken.push(next);
			assert.deepEqual(
				taken,
				items.toSorted((a, b) => a - b),
			);
		}
	});
});
