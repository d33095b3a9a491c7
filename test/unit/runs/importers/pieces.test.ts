import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { FaultList } from '../../../../src/runs/faultList.ts';
import { tensorboard } from '../../../../src/runs/importers/formats/tensorboard.ts';
import { StepPieces } from '../../../../src/runs/importers/stepPieces.ts';
import { inspectRun } from '../../../../src/runs/inspectRun.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { eventBytes } from './eventBytes.ts';
import { readAll } from './foreignFixtures.ts';

let folder = '';
beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), 'pieces-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const name = 'events.out.tfevents.1.host';
const sample = (step: number, text: string) => eventBytes({ step, tag: 'sample', text });
const textsOf = async (run: Awaited<ReturnType<typeof openRun>>) =>
	(await readAll(run)).rollouts.map(({ line }) => line.completion);

describe('reading files with several steps in pieces', () => {
	it('includes a partial event once it is complete', async () => {
		const last = sample(1, 'three');
		await writeFile(join(folder, name), Buffer.concat([sample(1, 'one'), sample(1, 'two'), last.subarray(0, 30)]));
		const run = await openRun(folder, { live: true });
		assert.deepEqual(await textsOf(run), ['one', 'two']);
		await appendFile(join(folder, name), last.subarray(30));
		await appendFile(join(folder, name), sample(2, 'four'));
		assert.deepEqual(await textsOf(run), ['one', 'two', 'three', 'four']);
		assert.deepEqual(run.faults, []);
	});

	it('counts the partial end of a file once if nothing is writing to it', async () => {
		await writeFile(join(folder, name), Buffer.concat([sample(1, 'one'), sample(1, 'two').subarray(0, 30)]));
		const { rollouts, skipped } = await inspectRun(await openRun(folder));
		assert.equal(rollouts, 1);
		assert.deepEqual(skipped, [{ file: name, line: null, message: 'truncated within an event', records: 1 }]);
	});

	it('counts an event without a length only once, however often more is appended', async () => {
		const broken = sample(1, 'two');
		broken[8] = (broken[8] as number) ^ 1;
		await writeFile(join(folder, name), Buffer.concat([sample(1, 'one'), broken]));
		const run = await openRun(folder);
		for (let i = 0; i < 3; i++) {
			assert.deepEqual((await readAll(run)).faults.length, 1);
			await appendFile(join(folder, name), sample(2, 'three'));
		}
		assert.equal(run.faults.length, 1);
	});

	it('gives each rollout once to concurrent readers', async () => {
		const texts = Array.from({ length: 3000 }, (_, i) => `${i} ${'x'.repeat(2000)}`);
		await writeFile(join(folder, name), Buffer.concat(texts.map((text, i) => sample(1 + Math.floor(i / 1000), text))));
		const run = await openRun(folder);
		const [all] = await Promise.all([textsOf(run), run.steps(), run.open(2), textsOf(run), run.record()]);
		assert.deepEqual(all, texts);
	});

	it('does not change open steps when the file grows', async () => {
		await writeFile(join(folder, name), sample(1, 'one'));
		const run = await openRun(folder);
		const opened = await run.open(1);
		const reading = opened.rollouts();
		await reading.next();
		await appendFile(join(folder, name), sample(1, 'two'));
		await run.steps();
		assert.equal((await reading.next()).done, true);
		await opened.close();
	});

	it('reports a file that cannot be opened, and continues without it', async () => {
		await writeFile(join(folder, 'elsewhere'), sample(1, 'one'));
		await symlink(join(folder, 'elsewhere'), join(folder, name));
		const [files] = tensorboard.rollouts;
		assert.ok(files);
		const faults = new FaultList();
		const pieces = new StepPieces(folder, [files], { path: name, parts: {} });
		const found = await pieces.read(files, { path: name, size: 10, modifiedMs: 0, stamp: '1-1-10-1' }, faults);
		assert.equal(found.size, 0);
		assert.match(faults.all[0]?.message ?? '', /not a regular file/);
	});
});

describe('the list of read errors of a run', () => {
	it('counts two malformed rollouts in one record as two', () => {
		const faults = new FaultList();
		const fault = { file: 'a.jsonl', line: 1, message: 'has no completion', records: 1 };
		faults.add(fault, 1);
		faults.add(fault, 2);
		faults.add(fault, 2);
		assert.equal(faults.all.length, 2);
	});

	it('loses no record, however many there are', async () => {
		const row = `${JSON.stringify({ input: 'p', output: 'o', gts: '1', score: 1, step: 1 })}\n`;
		await writeFile(join(folder, '1.jsonl'), row.repeat(10) + 'x\n'.repeat(11_000) + row);
		const run = await openRun(folder);
		for (let i = 0; i < 2; i++) {
			const { rollouts, skipped } = await inspectRun(run);
			assert.equal(rollouts, 11);
			assert.equal(
				skipped.reduce((sum, { records }) => sum + records, 0),
				11_000,
			);
			assert.ok(skipped.length < 10_100);
		}
	});

	it('forgets the errors of a file that is reread', () => {
		const faults = new FaultList();
		for (let line = 1; line <= 12_000; line++) faults.add({ file: 'a', line, message: 'invalid JSON', records: 1 });
		faults.forget('a');
		assert.deepEqual(faults.all, []);
	});
});
