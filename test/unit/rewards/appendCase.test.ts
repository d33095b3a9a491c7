import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { appendCase } from '../../../src/rewards/appendCase.ts';
import { readCases } from '../../../src/rewards/casesFile.ts';

const one = { name: 'one', prompt: '1+1=', completion: '2', answer: '2', row: { answer: '2' }, expect: 1 };

test('a case is appended after existing ones, and can be undone', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'cases-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const file = join(folder, 'sums.cases.jsonl');
	const first = await appendCase(file, one);
	assert.equal(first.line, 1);
	await appendFile(file, '# a comment without an end of line');
	const third = await appendCase(file, { ...one, name: 'two', completion: 'é\n', expect: null });
	assert.equal(third.line, 3);
	const { cases, faults } = await readCases(file);
	assert.deepEqual(faults, []);
	assert.deepEqual(
		cases.map(({ line, label, completion, expect }) => [line, label, completion, expect]),
		[
			[1, 'one', '2', 1],
			[3, 'two', 'é\n', null],
		],
	);
	await assert.rejects(first.undo(), /has been modified since the case was added/);
	const before = await readFile(file, 'utf8');
	await third.undo();
	const after = await readFile(file, 'utf8');
	assert.ok(before.startsWith(after) && after.endsWith('without an end of line'));
	await assert.rejects(third.undo(), /has been modified since the case was added/);
});

test('a path that is not a regular file is left alone', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'cases-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const target = join(folder, 'elsewhere');
	await writeFile(target, 'untouched');
	await symlink(target, join(folder, 'link.cases.jsonl'));
	await assert.rejects(appendCase(join(folder, 'link.cases.jsonl'), one), /link or not a regular file/);
	await assert.rejects(appendCase(folder, one));
	assert.equal(await readFile(target, 'utf8'), 'untouched');
});
