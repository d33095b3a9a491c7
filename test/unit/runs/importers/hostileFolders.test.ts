import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, open, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { inspectRun } from '../../../../src/runs/inspectRun.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { runsBelow } from '../../../../src/runs/runsBelow.ts';
import { readAll } from './foreignFixtures.ts';
import { groupsIn, writeFiles } from './madeRun.ts';

const row = (input: string, score: unknown = 1, more: object = {}) => ({
	input,
	output: `${input}!`,
	gts: null,
	score,
	step: 1,
	...more,
});
const line = (value: unknown) => `${JSON.stringify(value)}\n`;
const old = new Date('2026-01-01');

describe('hostile folders and files', () => {
	let folder: string;

	beforeEach(async () => {
		folder = await mkdtemp(join(tmpdir(), 'hostile-'));
	});
	afterEach(() => rm(folder, { recursive: true, force: true }));

	const read = async (live = false) => {
		const run = await openRun(folder, { live });
		const { rollouts } = await readAll(run, 'train');
		return { run, lines: rollouts.map((one) => one.line), faults: run.faults };
	};

	it('follows no links, whether to files, to folders or in a cycle', async () => {
		const outside = await mkdtemp(join(tmpdir(), 'outside-'));
		await writeFiles(outside, { '2.jsonl': [row('secret')], 'deep/3.jsonl': [row('secret')] });
		await writeFiles(folder, { '1.jsonl': [row('own')], 'plain/notes.txt': 'none' });
		await symlink(join(outside, '2.jsonl'), join(folder, '2.jsonl'));
		await symlink(join(outside, 'deep'), join(folder, 'rollouts'));
		await symlink('..', join(folder, 'plain/again'));
		await symlink(folder, join(folder, 'self'));
		const { run, lines } = await read();
		assert.deepEqual(await run.steps(), [1]);
		assert.deepEqual(
			lines.map(({ prompt }) => prompt),
			['own'],
		);
		const { runs, folders } = await runsBelow(join(folder, 'plain'));
		assert.deepEqual([runs.length, folders], [0, 1]);
		// A folder with only links contains no runs, and the search terminates.
		await mkdir(join(folder, 'links'));
		await symlink('..', join(folder, 'links/up'));
		await symlink(join(folder, '1.jsonl'), join(folder, 'links/1.jsonl'));
		assert.deepEqual(await runsBelow(join(folder, 'links')), { runs: [], cut: false, folders: 1 });
		await rm(outside, { recursive: true });
	});

	it('does not read or wait for pipes', { skip: process.platform === 'win32' }, async () => {
		const { execFile } = await import('node:child_process');
		const { promisify } = await import('node:util');
		await writeFiles(folder, { '1.jsonl': [row('own')] });
		await promisify(execFile)('mkfifo', [join(folder, '2.jsonl')]);
		const { run, lines } = await read();
		assert.deepEqual(await run.steps(), [1]);
		assert.equal(lines.length, 1);
	});

	it('reports skipped lines by file and line number, and reads the others', async () => {
		const bytes = Buffer.concat([
			Buffer.from(line(row('a'))),
			Buffer.from('not JSON\n'),
			Buffer.from(line([1, 2])),
			Buffer.from('\n  \n'),
			Buffer.from(line({ ...row('b'), output: 7 })),
			Buffer.from('{"input": "c", "output": "'),
			Buffer.from([0xff, 0xfe, 0xc3, 0x28]),
			Buffer.from('", "gts": null, "score": NaN, "step": 1}\n'),
			Buffer.from(line(row('d', 'high'))),
			Buffer.from(line(row('e', Number.MAX_VALUE * 10))),
		]);
		await writeFiles(folder, { '1.jsonl': bytes });
		const { lines, faults } = await read();
		assert.deepEqual(
			faults.map((fault) => fault.line),
			[2, 3, 6],
		);
		for (const { file, records } of faults) assert.deepEqual([file, records], ['1.jsonl', 1]);
		assert.deepEqual(
			lines.map(({ prompt, reward }) => [prompt, reward]),
			[
				['a', 1],
				['c', null],
				['d', null],
				['e', null],
			],
		);
		assert.equal(lines[1]?.completion, '\ufffd\ufffd\ufffd(');
	});

	it('splits lines only at \\n', async () => {
		const text = 'one\u2028two\u2029three\u0085four\rfive';
		await writeFiles(folder, { '1.jsonl': [row('a', 1, { output: text }), row('b')] });
		const { lines } = await read();
		assert.deepEqual(
			lines.map(({ completion }) => completion),
			[text, 'b!'],
		);
	});

	it('reports a partial last line, but waits for the rest while the file is being written', async () => {
		const path = join(folder, '1.jsonl');
		await writeFile(path, `${line(row('a'))}{"input": "b", "output": "`);
		assert.deepEqual((await read(true)).faults, []);
		assert.deepEqual((await read()).faults, [{ file: '1.jsonl', line: 2, message: 'truncated JSON', records: 1 }]);
		await appendFile(path, 'more", "gts": null, "score": 0, "step": 1}');
		// The line is complete except for its newline.
		assert.equal((await read(true)).lines.length, 2);
		await writeFile(path, `${line(row('a'))}{"inp`);
		await utimes(path, old, old);
		assert.equal((await read(true)).faults.length, 1);
	});

	it('continues group numbers across several files of a step', async () => {
		await writeFiles(folder, { '1.jsonl': [row('a'), row('a'), row('b')], '01.jsonl': [row('c'), row('a')] });
		const { run, lines } = await read();
		assert.deepEqual(await run.steps(), [1]);
		assert.deepEqual(
			lines.map(({ prompt, group, index }) => [prompt, group, index]),
			[
				['c', 0, 0],
				['a', 1, 0],
				['a', 1, 1],
				['a', 1, 2],
				['b', 2, 0],
			],
		);
	});

	it('skips a line of 256 MiB without loading it', async () => {
		const file = await open(join(folder, '1.jsonl'), 'w');
		await file.write(line(row('before')));
		await file.write('{"input": "long", "output": "');
		// A hole, which takes no disk space.
		const rest = `", "gts": null, "score": 1, "step": 1}\n${line(row('after'))}`;
		await file.write(rest, 256 << 20);
		await file.close();
		const before = process.memoryUsage().arrayBuffers;
		const { lines, faults } = await read();
		// Parts of the line that have been read stay in memory until they are garbage-collected.
		assert.ok(process.memoryUsage().arrayBuffers - before < 192 << 20);
		assert.deepEqual(
			lines.map(({ prompt }) => prompt),
			['before', 'after'],
		);
		assert.deepEqual(faults, [{ file: '1.jsonl', line: 2, message: 'longer than 64 MiB', records: 1 }]);
	});

	it('handles a folder with five hundred tiny files', async () => {
		for (let i = 0; i < 500; i++) closeSync(openSync(join(folder, `${i}.txt`), 'w'));
		assert.deepEqual(await runsBelow(folder), { runs: [], cut: false, folders: 1 });
		await writeFiles(folder, { 'inner/1.jsonl': [row('a')] });
		const { runs } = await runsBelow(folder);
		assert.deepEqual(
			runs.map((run) => run.formats[0]?.name),
			['verl'],
		);
	});

	it('ends a canceled search, and one that exceeds its limits', async () => {
		for (let i = 0; i < 30; i++) await mkdir(join(folder, `a${i}/b`), { recursive: true });
		await assert.rejects(
			runsBelow(folder, {}, { aborted: true }),
			(error) => error instanceof Failure && error.reason === 'cancelled',
		);
		assert.deepEqual(await runsBelow(folder, { folders: 10 }), { runs: [], cut: true, folders: 10 });
		await writeFiles(folder, { 'a29/b/1.jsonl': [row('deep')] });
		assert.equal((await runsBelow(folder, { depth: 0 })).runs.length, 0);
		assert.equal((await runsBelow(folder, { depth: 1 })).runs.length, 1);
	});

	it('opens a rollout by its location alone, and reports a file that has changed since', async () => {
		await writeFiles(folder, { '1.jsonl': [row('a'), row('b'), row('b', 0)] });
		const run = await openRun(folder);
		const { rollouts } = await readAll(run, 'train');
		const [, , third] = rollouts;
		assert.ok(third);
		const step = await run.open(1);
		assert.deepEqual(await step.rollout(third.place), third.line);
		await step.close();
		await writeFiles(folder, { '1.jsonl': 'x'.repeat(300) });
		const again = await run.open(1);
		const failed = (reason: string) => (error: unknown) => error instanceof Failure && error.reason === reason;
		await assert.rejects(again.rollout(third.place), failed('corrupt'));
		await assert.rejects(again.rollout({ ...third.place, file: '../1.jsonl' }), failed('corrupt'));
		await again.close();
		await rm(join(folder, '1.jsonl'));
		await assert.rejects(run.open(1), failed('missing'));
	});

	it('counts consistently: rollouts read and records skipped add up to all records', async () => {
		const rows = Array.from({ length: 40 }, (_, i) => (i % 7 === 3 ? 'broken\n' : line(row(`p${i >> 2}`, i % 2))));
		await writeFiles(folder, { '1.jsonl': rows.join('') });
		const result = await inspectRun(await openRun(folder));
		const skipped = result.skipped.reduce((sum, { records }) => sum + records, 0);
		assert.equal(result.rollouts + skipped, rows.length);
		// Reading twice must not count twice.
		const run = await openRun(folder);
		await readAll(run, 'train');
		await readAll(run, 'train');
		assert.equal(run.faults.length, skipped);
		assert.equal(new Set(groupsIn((await read()).lines)).size, result.groups);
	});
});
