// @alone it measures the memory of its process
import assert from 'node:assert/strict';
import { mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DatasetCounter } from '../../../../src/core/dataset/hygiene/datasetReport.ts';
import { searched } from '../../../../src/core/dataset/hygiene/duplicateFinder.ts';
import { splitRows } from '../../../../src/core/dataset/rowsSource.ts';
import type { DataTable } from '../../../../src/runs/dataset/dataTable.ts';
import { exportRows, rowsOf } from '../../../../src/runs/dataset/exportRows.ts';
import { openTable } from '../../../../src/runs/dataset/openTable.ts';
import { sampleTable } from '../../../../src/runs/dataset/sampleTable.ts';
import { TaskTable } from '../../../../src/runs/dataset/taskTable.ts';
import { openTests, walkOverlaps } from '../../../../src/runs/dataset/walkOverlaps.ts';
import { walkStatistics } from '../../../../src/runs/dataset/walkStatistics.ts';
import { parseDataset } from '../../../support/parseDataset.ts';

async function folderOf(t: TestContext): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'tables-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

async function opened(t: TestContext, path: string): Promise<DataTable> {
	const table = await openTable(path);
	t.after(() => table.close());
	return table;
}

async function scanned(table: DataTable): Promise<unknown[]> {
	const values: unknown[] = [];
	for await (const { row, value, fault } of table.scan()) {
		assert.equal(row, values.length);
		values.push(value ?? fault);
	}
	return values;
}

test('every format gives the same rows, sequentially and at any offset', async (t) => {
	const folder = await folderOf(t);
	const rows = Array.from({ length: 1000 }, (_, i) => ({
		q: `line ${i}\nnext, "é"`.repeat(1 + (i % 40)),
		n: String(i),
	}));
	const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
	const files = {
		'a.jsonl': rows.map((row) => JSON.stringify(row)).join('\n\n'),
		'b.json': `\uFEFF${JSON.stringify({ about: ['x'], rows }, null, 1)}`,
		'c.json': rows.map((row) => JSON.stringify(row)).join('\n'),
		'd.csv': `q,n\r\n${rows.map(({ q, n }) => `${quoted(q)},${n}`).join('\r\n')}\r\n`,
		'e.tsv': `q\tn\n${rows.map(({ q, n }) => `${quoted(q)}\t${n}`).join('\n')}`,
	};
	for (const [name, text] of Object.entries(files)) {
		const path = join(folder, name);
		await writeFile(path, text);
		const table = await opened(t, path);
		assert.deepEqual(await table.rows(0, 10), [], `${name}: no rows before indexing`);
		await table.index();
		assert.deepEqual([table.rowCount, table.complete], [1000, true], name);
		assert.deepEqual(await scanned(table), rows, name);
		for (const [from, to] of [
			[0, 3],
			[63, 66],
			[500, 700],
			[998, 1010],
			[1000, 1001],
		] as const) {
			assert.deepEqual(
				(await table.rows(from, to)).map(({ value }) => value),
				rows.slice(from, to),
				`${name} ${from}`,
			);
		}
		const some = [999, 3, 4, 70, 2];
		assert.deepEqual(
			(await rowsOf(table, some)).map(({ row }) => row),
			some,
			name,
		);
	}
});

test('Parquet is read by row group, and a damaged file is rejected with a message', async (t) => {
	const parquet = join(import.meta.dirname, '../../../fixtures/trl-quirks/completions/completions_00010.parquet');
	const table = await opened(t, parquet);
	assert.ok(table.complete && table.rowCount > 0);
	const all = await scanned(table);
	assert.equal(all.length, table.rowCount);
	assert.deepEqual(
		(await table.rows(table.rowCount - 1, table.rowCount + 5)).map(({ value }) => value),
		all.slice(-1),
	);
	const { columns } = await sampleTable(table);
	assert.ok(columns.length > 1);
	const cut = join(await folderOf(t), 'cut.parquet');
	await writeFile(cut, (await readFile(parquet)).subarray(0, 100));
	await assert.rejects(openTable(cut), /Cannot read cut\.parquet as Parquet: /);
});

test('a file without rows is rejected with one sentence', async (t) => {
	const folder = await folderOf(t);
	const at = (name: string) => join(folder, name);
	await writeFile(at('a.txt'), 'x');
	await writeFile(at('binary.jsonl'), Buffer.from([1, 0, 2]));
	await writeFile(at('wide.csv'), Buffer.from('\uFEFFa,b', 'utf16le'));
	await writeFile(at('real.jsonl'), '{"a":1}\n');
	await symlink(at('real.jsonl'), at('linked.jsonl'));
	await symlink('/dev/zero', at('device.jsonl'));
	await assert.rejects(openTable(at('a.txt')), /has an unsupported file type\. Supported: jsonl, /);
	await assert.rejects(openTable(at('binary.jsonl')), /is not text/);
	await assert.rejects(openTable(at('wide.csv')), /UTF-16/);
	await assert.rejects(openTable(at('gone.jsonl')), /gone\.jsonl does not exist/);
	await assert.rejects(openTable(at('device.jsonl')), /not a regular file/);
	assert.deepEqual(await scanned(await opened(t, at('linked.jsonl'))), [{ a: 1 }]);
	await writeFile(at('odd.jsonl'), '{"a":\n[1]\nnull\n"x"\n{"torn": ');
	assert.deepEqual(await scanned(await opened(t, at('odd.jsonl'))), [
		'is not JSON',
		{ value: [1] },
		{ value: null },
		{ value: 'x' },
		'is incomplete JSON, possibly because the file is still being written',
	]);
	for (const name of ['empty.jsonl', 'empty.json', 'empty.csv']) {
		await writeFile(at(name), '');
		const table = await opened(t, at(name));
		await table.index();
		assert.deepEqual([table.rowCount, await scanned(table)], [0, []], name);
	}
});

test('a file is not kept in memory, and indexing can be canceled', async (t) => {
	const path = join(await folderOf(t), 'large.jsonl');
	const handle = await open(path, 'w');
	const block = Array.from({ length: 1000 }, (_, i) => `{"prompt":"${'x'.repeat(960)}","answer":${i}}\n`).join('');
	for (let i = 0; i < 200; i++) await handle.write(block);
	await handle.close();
	const table = await opened(t, path);
	const { values } = await sampleTable(table);
	assert.ok(values.length > 0 && table.rowCount === 0, 'the first rows are available before any rows are counted');
	const signal = { aborted: false };
	const ended = table.index(signal, () => {
		signal.aborted = true;
	});
	await assert.rejects(ended, { reason: 'cancelled' });
	assert.ok(table.rowCount > 0 && !table.complete);
	globalThis.gc?.();
	const before = process.memoryUsage().arrayBuffers;
	await table.index();
	assert.equal(table.rowCount, 200_000);
	assert.ok(process.memoryUsage().arrayBuffers - before < 128 << 20);
	assert.equal((await table.rows(199_999, 200_000))[0]?.value?.answer, 999);
});

test('statistics and overlaps match dataset check', async (t) => {
	const folder = await folderOf(t);
	const prompt = (i: number) =>
		`How many apples are in ${i} boxes of ${i * 3} when each box of wood weighs ${i} pounds`;
	const rows = Array.from({ length: 300 }, (_, i) => ({
		prompt: i % 50 === 9 ? prompt(9) : i === 250 ? `${prompt(17)} or so` : prompt(i),
		answer: i % 4 === 0 ? 'yes' : String(i),
		...(i % 2 ? { solution: 'because' } : {}),
	}));
	const text = rows.map((row) => JSON.stringify(row)).join('\n');
	const tests = [prompt(30), `Before that: ${prompt(31)}`, 'too short'].map((one) => ({ prompt: one, answer: '1' }));
	await writeFile(join(folder, 'train.jsonl'), text);
	await writeFile(join(folder, 'test.jsonl'), tests.map((row) => JSON.stringify(row)).join('\n'));
	const problems = parseDataset(text, 'train');
	const { index, ...testSet } = await openTests(join(folder, 'test.jsonl'));
	const counter = new DatasetCounter([{ ...testSet, index }]);
	for (const [row, problem] of problems.entries()) counter.add(row, problem);
	const expected = searched(counter.report());
	assert.deepEqual(expected.against, [
		{ name: 'test.jsonl', rows: 3, tooShort: 1, overlaps: expected.contaminated.length },
	]);
	const table = await opened(t, join(folder, 'train.jsonl'));
	const mapping = { prompt: 'prompt', answer: 'answer', solution: 'solution', preset: null };
	const { statistics, repeats } = await walkStatistics(table, mapping, 0.1);
	const { facts, duplicates } = expected;
	for (const key of ['rows', 'prompt', 'answer', 'solution', 'withSolution', 'answerKinds', 'vocabulary'] as const) {
		assert.deepEqual(statistics[key], facts[key], key);
	}
	assert.equal(statistics.exact.groups, duplicates.exact.length);
	assert.equal(statistics.near.groups, duplicates.near.length);
	assert.equal(statistics.near.groups > 0 && statistics.exact.repeated, 5);
	assert.equal(problems.length - repeats.size, expected.distinct);
	assert.equal(statistics.heldOut, problems.length - splitRows(problems, null, 0.1).training.length);
	assert.equal(statistics.refused, 0);
	const found = await walkOverlaps(table, mapping, [await openTests(join(folder, 'test.jsonl'))]);
	assert.deepEqual([...found.values()], expected.contaminated);
	assert.ok(found.size >= 2);
	const limited = await walkStatistics(table, mapping, 0.1, { limits: { exact: 100, near: 50, vocabulary: 10 } });
	assert.equal(limited.statistics.compared.near, 50);
});

test('rows are exported completely or not at all', async (t) => {
	const folder = await folderOf(t);
	await writeFile(join(folder, 'a.jsonl'), '{"a":1}\nno\n{"a":2}\n{"a":3}\n');
	const table = await opened(t, join(folder, 'a.jsonl'));
	await table.index();
	const out = join(folder, 'out.jsonl');
	const line = (value: Readonly<Record<string, unknown>>) => value;
	assert.deepEqual(await exportRows(table, null, out, { replace: false, line }), { rows: 3, bytes: 24, leftOut: 1 });
	await assert.rejects(exportRows(table, null, out, { replace: false, line }), { reason: 'exists' });
	await exportRows(table, [3, 0], out, { replace: true, line });
	assert.equal(await readFile(out, 'utf8'), '{"a":3}\n{"a":1}\n');
	const signal = { aborted: true };
	await assert.rejects(exportRows(table, [0], out, { replace: true, line, signal }), { reason: 'cancelled' });
	assert.equal(await readFile(out, 'utf8'), '{"a":3}\n{"a":1}\n');
	assert.deepEqual((await readdir(folder)).toSorted(), ['a.jsonl', 'out.jsonl']);
});

test("a task's rows are the problems that a run with the same seed gets", async () => {
	const table = new TaskTable({ task: 'addition', digits: 2 }, 50, 7);
	const rows = await scanned(table);
	assert.equal(rows.length, 50);
	assert.deepEqual(
		(await table.rows(10, 12)).map(({ value }) => value),
		rows.slice(10, 12),
	);
	assert.notDeepEqual(await scanned(new TaskTable({ task: 'addition', digits: 2 }, 50, 8)), rows);
	assert.throws(() => new TaskTable({ task: 'addition', modulus: 3 }, 5, 0), /no setting "modulus"/);
});
