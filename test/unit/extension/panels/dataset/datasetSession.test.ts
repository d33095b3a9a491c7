import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
	exportName,
	taskLabel,
	taskOfQuery,
	taskQuery,
} from '../../../../../src/extension/panels/dataset/datasetPlace.ts';
import { DatasetSession } from '../../../../../src/extension/panels/dataset/datasetSession.ts';
import { type DatasetSnapshot, datasetSnapshotSchema, noFilter } from '../../../../../src/protocol/datasetMessages.ts';
import { decodeOrThrow } from '../../../../../src/protocol/decode.ts';
import { openTable } from '../../../../../src/runs/dataset/openTable.ts';
import { TaskTable } from '../../../../../src/runs/dataset/taskTable.ts';

const line = (value: unknown) => `${JSON.stringify(value)}\n`;

async function opened(t: TestContext, text: string, name = 'train.jsonl') {
	const folder = await mkdtemp(join(tmpdir(), 'dataset-session-'));
	const file = join(folder, name);
	await writeFile(file, text);
	const reported: DatasetSnapshot[] = [];
	const session = new DatasetSession({
		label: name,
		name,
		open: () => openTable(file),
		post: (snapshot) => reported.push(decodeOrThrow(datasetSnapshotSchema, structuredClone(snapshot), 'A snapshot')),
		newsMs: 1,
	});
	t.after(async () => {
		session.dispose();
		await rm(folder, { recursive: true, force: true });
	});
	const last = async (): Promise<DatasetSnapshot> => {
		await session.settled();
		await session.begin();
		return reported.at(-1) as DatasetSnapshot;
	};
	return { folder, file, reported, session, last };
}

const rows = Array.from({ length: 200 }, (_, i) => ({
	question: `What is ${i} plus ${i % 7} here?`,
	answer: i,
	kind: i % 3,
}));

test('a file is shown immediately and then indexed, and rows come from the current view', async (t) => {
	const { session, reported, last } = await opened(t, rows.map(line).join(''));
	await session.begin();
	assert.equal(reported[0]?.version, 1);
	assert.deepEqual(reported[0]?.mapping, { prompt: 'question', answer: 'answer', solution: null, preset: null });
	const whole = await last();
	assert.deepEqual([whole.rows, whole.complete, whole.statistics?.rows, whole.works], [200, true, 200, []]);
	const { rows: shown } = await session.rows(whole.version, whole.view.number, 10, 12);
	assert.deepEqual(
		shown.map(({ row, cells }) => [row, ...cells]),
		[
			[10, 'What is 10 plus 3 here?', '10', '1'],
			[11, 'What is 11 plus 4 here?', '11', '2'],
		],
	);
	const conditions = [{ column: 'kind', operator: '=' as const, value: '2' }];
	await session.show({ ...noFilter, conditions }, { column: 'answer', descending: true });
	const filtered = await last();
	assert.equal(filtered.view.rows, 66);
	const { rows: sorted } = await session.rows(filtered.version, filtered.view.number, 0, 2);
	assert.deepEqual(
		sorted.map(({ row }) => row),
		[197, 194],
	);
	await assert.rejects(session.rows(whole.version, whole.view.number, 0, 1), { reason: 'mismatch' });
	await assert.rejects(session.rows(99, filtered.view.number, 0, 1), { reason: 'mismatch' });
	await assert.rejects(session.row(filtered.version, 200), { reason: 'missing' });
	const held = await last();
	const { heldOut } = await session.row(held.version, shown[0]?.row ?? 0);
	assert.equal(heldOut, shown[0]?.heldOut);
});

test('the last of several requested views is shown', async (t) => {
	const { session, last } = await opened(t, rows.map(line).join(''));
	await session.begin();
	const shows = ['1', '12', '123'].map((text) => session.show({ ...noFilter, text: `is ${text} ` }, null));
	await Promise.all(shows);
	const { view } = await last();
	assert.deepEqual([view.filter.text, view.rows], ['is 123 ', 1]);
});

test('a task can be canceled, and the editor can be closed while it runs', async (t) => {
	const { session, last } = await opened(t, rows.map(line).join('').repeat(200));
	await session.begin();
	await session.cancel('index');
	await session.cancel('statistics');
	const ended = await last();
	assert.equal(ended.statistics, null);
	assert.deepEqual([ended.works, ended.notice], [[], null]);
	const counting = session.computeStatistics();
	session.dispose();
	await counting;
	await session.settled();
});

test('statistics that a filter needs are computed first, and the rows of a view can be exported', async (t) => {
	const { session, folder, last } = await opened(t, [...rows, rows[3], rows[5]].map(line).join(''));
	await session.begin();
	await writeFile(join(folder, 'test.jsonl'), line({ prompt: 'What is 7 plus 0 here', answer: '7' }));
	await session.addTests([join(folder, 'test.jsonl')]);
	await session.show({ ...noFilter, duplicates: 'without', overlaps: 'without' }, null);
	const { view, overlaps, statistics } = await last();
	assert.equal(statistics?.exact.repeated, 2);
	assert.deepEqual(
		overlaps?.findings.map(({ row, against, words }) => [row, against, words]),
		[[7, 'test.jsonl', 'what is 7 plus 0 here']],
	);
	assert.equal(view.rows, 199);
	const out = join(folder, 'out.jsonl');
	assert.equal((await session.exportTo(out, false)).rows, 199);
	await assert.rejects(session.exportTo(out, false), { reason: 'exists' });
	const written = (await readFile(out, 'utf8'))
		.trim()
		.split('\n')
		.map((one) => JSON.parse(one));
	assert.deepEqual(
		written,
		rows.filter((_, i) => i !== 7),
	);
	await session.setPassRates({
		name: 'evaluation',
		questions: 2,
		of: (prompt) => (prompt.includes(' 9 ') ? 0.5 : null),
	});
	const conditions = [{ column: 'pass rate', operator: '>=' as const, value: '0.1' }];
	await session.show({ ...noFilter, conditions }, { column: 'pass rate', descending: false });
	assert.equal((await last()).difficulty?.rows, 1);
	await session.exportTo(out, true);
	assert.equal(await readFile(out, 'utf8'), line({ ...rows[9], pass_rate: 0.5 }));
	await assert.rejects(session.addTests([join(folder, 'gone.jsonl')]), { reason: 'missing' });
});

test('a file without rows is reported, and reloaded once it has rows', async (t) => {
	const { session, file, reported, last } = await opened(t, '\u0000');
	await session.begin();
	assert.deepEqual([reported[0]?.version, reported[0]?.failure?.message], [0, 'train.jsonl is not text.']);
	await writeFile(file, rows.map(line).join(''));
	session.markStale();
	await session.again();
	const { failure, stale, rows: known } = await last();
	assert.deepEqual([failure, stale, known], [null, false, 200]);
});

test('an address identifies its task', async () => {
	const place = { task: { task: 'addition' as const, digits: 2 }, rows: 20, seed: 3 };
	assert.deepEqual(taskOfQuery(taskQuery(place)), place);
	assert.equal(taskLabel(place), 'addition, digits 2, seed 3');
	assert.equal(exportName('/data/a.b.jsonl'), 'a.b-rows.jsonl');
	for (const query of [
		'',
		'[]',
		'{"task":"none"}',
		'{"task":"addition","rows":-1}',
		'{"task":"addition","seed":0.5}',
	]) {
		assert.throws(() => taskOfQuery(query), { reason: 'invalid' }, query);
	}
	assert.equal(new TaskTable(place.task, place.rows, place.seed).rowCount, 20);
});
