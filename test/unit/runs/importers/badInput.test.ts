import assert from 'node:assert/strict';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openTranscriptText } from '../../../../src/extension/panels/transcript/transcriptSource.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import type { RolloutPlace } from '../../../../src/runs/runContent.ts';
import { longSample } from '../../../support/longSample.ts';
import { type Member, zipFile } from '../../../support/zipFile.ts';
import { zstdFile } from '../../../support/zstdFile.ts';
import { readAll } from './foreignFixtures.ts';
import { madeRun, writeFiles } from './madeRun.ts';

async function folderOf(t: TestContext): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'bad-input-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

/** Writes a zip archive whose members are far apart, in a file with holes. */
async function writeSparseArchive(path: string, members: readonly (readonly [number, Member])[]): Promise<void> {
	const handle = await open(path, 'w');
	try {
		const directory: Buffer[] = [];
		let end = 0;
		for (const [at, member] of members) {
			const archive = zipFile([member]);
			const start = archive.readUInt32LE(archive.length - 6);
			const entry = archive.subarray(start, archive.length - 22);
			entry.writeUInt32LE(at, 42);
			directory.push(entry);
			await handle.write(archive, 0, start, at);
			end = at + start;
		}
		const list = Buffer.concat(directory);
		const tail = Buffer.alloc(22);
		tail.write('PK\x05\x06', 'latin1');
		tail.writeUInt16LE(members.length, 10);
		tail.writeUInt32LE(list.length, 12);
		tail.writeUInt32LE(end, 16);
		await handle.write(Buffer.concat([list, tail]), 0, list.length + 22, end);
	} finally {
		await handle.close();
	}
}

test('an Inspect log of 3 GB is listed and its samples are read', async (t) => {
	const folder = await folderOf(t);
	const member = (id: string): Member => ({ name: `samples/${id}_epoch_1.json`, text: longSample(id, 3), method: 93 });
	await writeSparseArchive(join(folder, 'log.eval'), [
		[0, member('a')],
		[3 * 2 ** 30, member('b')],
	]);
	const run = await openRun(folder);
	const { rollouts } = await readAll(run);
	assert.deepEqual(
		rollouts.map(({ line }) => [line.row, line.completion.length]),
		[
			['a', 2],
			['b', 2],
		],
	);
	const step = await run.open(0);
	const places: RolloutPlace[] = [];
	for await (const { place } of step.rollouts()) if (place !== null) places.push(place);
	assert.equal((await step.rollout(places[1] as RolloutPlace)).row, 'b');
	await step.close();
	assert.deepEqual(run.faults, []);
	const text = await openTranscriptText({ kind: 'file', file: join(folder, 'log.eval') }, null, 1);
	assert.deepEqual([text.samples?.titles, text.byLines?.count], [['Sample a', 'Sample b'], 3]);
	await text.close();
});

const stream = 'monitors/file/traces/stream/00000.jsonl';
const nodes = (answer: string) => [
	{ message: { role: 'user', content: 'q' } },
	{ parent: 0, sampled: true, message: { role: 'assistant', content: answer } },
];
const arrived = (id: string, step: number) => ({
	id: `episode ${id}`,
	run: { work: { type: 'train', step: 0 } },
	traces: [
		{
			...{ id, nodes: nodes(`Answer ${id}. `.repeat(60)), rewards: { right: { score: 1, weight: 1 } } },
			info: { kind: 'train', arrival: { step, time: 1 } },
		},
	],
});

test('a chunk that is sealed during a read is read to its end exactly once', async (t) => {
	const folder = await folderOf(t);
	const count = 4000;
	const rows = Array.from({ length: count }, (_, i) => arrived(`t${i}`, 1));
	await writeFiles(folder, { [stream]: rows });
	const run = await openRun(folder);
	const step = await run.open(1);
	const ids = new Set<string>();
	let places: RolloutPlace[] = [];
	for await (const { rollout, place } of step.rollouts()) {
		if (place !== null) places.push(place);
		ids.add(JSON.stringify(rollout?.completion));
		if (ids.size !== 10) continue;
		// prime-rl writes the compressed copy under a temporary name, renames it, and removes the original.
		await writeFile(
			join(folder, `${stream}.zst`),
			zstdFile(
				rows.map((row) => `${JSON.stringify(row)}\n`),
				true,
			),
		);
		await rm(join(folder, stream));
	}
	assert.deepEqual([ids.size, places.length], [count, count]);
	assert.match(JSON.stringify(await step.rollout(places[count - 1] as RolloutPlace)), /Answer t3999/);
	await step.close();
	const sealed = await run.open(1);
	places = [];
	for await (const { place } of sealed.rollouts()) if (place !== null) places.push(place);
	assert.equal(places.length, count);
	assert.match(JSON.stringify(await sealed.rollout(places[count - 1] as RolloutPlace)), /Answer t3999/);
	await sealed.close();
	assert.deepEqual(run.faults, []);
});

test('a folder with files of several versions of prime-rl is read completely, each rollout once', async () => {
	const { train, faults } = await madeRun({
		'rollouts/step_0/train_rollouts.jsonl': [
			{
				example_id: 1,
				prompt: [{ role: 'user', content: 'q' }],
				completion: [{ role: 'assistant', content: 'v0' }],
				reward: 1,
			},
		],
		'rollouts/step_1/train/all/traces.jsonl': [{ id: 'e', traces: [{ id: 'x', nodes: nodes('v1'), rewards: {} }] }],
		'rollouts/step_1/train/effective/traces.jsonl': [
			{ id: 'e', traces: [{ id: 'x', nodes: nodes('v1'), rewards: {} }] },
		],
		[stream]: [arrived('a', 2), arrived('b', 3)],
	});
	assert.deepEqual(faults, []);
	assert.deepEqual(
		train.map(({ step }) => step),
		[0, 1, 2, 3],
	);
});

test('a run whose clock was set back counts as running only while it writes', async () => {
	const meta = 'run_id: 57332e2ae5e0459e9649ea4c4f59ee6d\nrun_name: only\nstart_time: 1795719933484\nstatus: 1\n';
	/** Rows every 10 s: four from before the clock was set back by an hour, and four since. */
	const statusOf = async (ago: number) => {
		const times = Array.from({ length: 8 }, (_, i) => Date.now() / 1000 - ago - 10 * (7 - i) + (i < 4 ? 3600 : 0));
		const rows = times.map((time, i) => `${Math.round(1000 * time)} 0.5 ${i}\n`).join('');
		const { record } = await madeRun({ 'meta.yaml': meta, 'metrics/loss': rows });
		assert.ok(record.created <= record.updated);
		return record.status;
	};
	assert.equal(await statusOf(5), 'running');
	assert.equal(await statusOf(90), 'stopped');
});
