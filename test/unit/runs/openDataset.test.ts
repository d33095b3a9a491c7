import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { columnCell } from '../../../src/core/dataset/columnCell.ts';
import type { Problem } from '../../../src/core/dataset/problem.ts';
import { openNamed, readNamed } from '../../../src/files/safeFile.ts';
import { checkDataset } from '../../../src/runs/dataset/checkDataset.ts';
import { openTable } from '../../../src/runs/dataset/openTable.ts';
import { savedSplits } from '../../../src/runs/dataset/savedFolder.ts';
import { openDataset, readDataFile } from '../../../src/runs/openDataset.ts';

test('a data file must be UTF-8 text, or it is rejected with its line and likely encoding', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'open-dataset-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const write = async (name: string, bytes: Buffer) => {
		await writeFile(join(folder, name), bytes);
		return join(folder, name);
	};
	const text = '\uFEFF{"prompt": "Café 中 😀"}\n';
	assert.equal(await readDataFile(await write('utf8.jsonl', Buffer.from(text))), text);
	const lines = (odd: Buffer) => Buffer.concat([Buffer.from('{"a": 1}\n\n{"é": 2}\n'), odd, Buffer.from('\n{}\n')]);
	for (const [name, odd, encoding] of [
		['latin1', Buffer.from('{"é": 3}', 'latin1'), 'ISO-8859-1'],
		['windows', Buffer.from([0x7b, 0x93, 0x94, 0x7d]), 'WINDOWS-1252'],
		// A character truncated by the end of the line.
		['torn', Buffer.from([0x7b, 0xe4, 0xb8]), 'ISO-8859-1|WINDOWS-1252'],
	] as const) {
		const path = await write(`${name}.jsonl`, lines(odd));
		await assert.rejects(readDataFile(path), {
			reason: 'invalid',
			message: `The dataset ${path}, line 4, is not valid UTF-8.`,
			action: new RegExp(
				`The encoding looks like (${encoding})\\. Convert the file to UTF-8, for example with iconv -f`,
			),
		});
	}
	await assert.rejects(readDataFile(await write('wide.jsonl', Buffer.from('\uFEFF{"a": "é"}', 'utf16le'))), {
		action: /The encoding looks like UTF-16/,
	});
});

test('pipes, devices and folders given as files are rejected without blocking', {
	skip: process.platform === 'win32',
}, async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'open-dataset-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const pipe = join(folder, 'pipe.jsonl');
	execFileSync('mkfifo', [pipe]);
	await symlink(pipe, join(folder, 'link.jsonl'));
	for (const path of [pipe, join(folder, 'link.jsonl'), '/dev/zero', folder]) {
		for (const read of [openNamed, readNamed, readDataFile]) {
			await assert.rejects(read(path), { reason: 'invalid', message: /is not a regular file/ });
		}
	}
	await writeFile(join(folder, 'a.txt'), 'abc');
	await symlink(join(folder, 'a.txt'), join(folder, 'b.txt'));
	assert.equal((await readNamed(join(folder, 'b.txt'))).toString(), 'abc');
	await assert.rejects(readNamed(join(folder, 'b.txt'), { largest: 2 }), { reason: 'unsupported' });
	await assert.rejects(readNamed(join(folder, 'none.txt'), { what: 'The file' }), {
		message: 'The file does not exist.',
	});
});

const fixtures = join(import.meta.dirname, '../../fixtures/datasets');
const columns = { prompt: 'prompt', answer: 'reward_model.ground_truth', solution: 'solution' };
const opened = async (path: string, more: object = {}) => {
	const { source, hash } = await openDataset({ ...columns, heldOutShare: 0.2, heldOut: null, path, ...more });
	const all = [...source.heldOut(1000)];
	for (let i = 0; i < (source.trainingRows ?? 0); i++) all.push(source.training(1, i));
	return { problems: all.toSorted((a, b) => (a.prompt < b.prompt ? -1 : 1)), hash };
};

test('excluded prompts are removed from both sides of the split, and a resume checks them', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'open-dataset-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const path = join(folder, 'rows.jsonl');
	const lines = Array.from({ length: 30 }, (_, n) => JSON.stringify({ prompt: `${n}  + 1`, answer: n + 1 }));
	await writeFile(path, lines.join('\n'));
	const flat = { answer: 'answer' };
	const all = await opened(path, flat);
	const left = await opened(path, { ...flat, exclude: ['3 + 1', ' 4  + 1 ', 'no such prompt'] });
	assert.deepEqual(
		all.problems
			.filter(({ prompt }) => !left.problems.some((other) => other.prompt === prompt))
			.map(({ prompt }) => prompt),
		['3  + 1', '4  + 1'],
	);
	assert.notEqual(left.hash, all.hash);
	await assert.rejects(opened(path, { ...flat, exclude: all.problems.map(({ prompt }) => prompt) }), {
		message: /leaves no row/,
	});
});

test('a recipe reads the same problems from JSONL, JSON, CSV, Parquet and Parquet folders', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'open-dataset-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	// Written by Hugging Face datasets: prompts are message lists, and answers are nested in an object.
	const { problems, hash } = await opened(join(fixtures, 'parquet'));
	assert.equal(problems.length, 40);
	assert.ok(problems[0]?.prompt.startsWith('Answer with a number.\n\nWhat is 0 + 1? Gr\u00F6\u00DFe'));
	assert.deepEqual([problems[0]?.answer, problems[0]?.solution], ['1', null]);
	assert.equal((await opened(join(fixtures, 'parquet'))).hash, hash);
	const rows = problems.map(({ row }) => row);
	const plain = (problem: Problem) => ({ prompt: problem.prompt, answer: problem.answer, key: problem.key });
	const lines = rows.map((row) => JSON.stringify(row)).join('\n');
	const cell = (text: unknown) => `"${String(text).replaceAll('"', '""')}"`;
	const flat = problems.map(({ prompt, answer }) => `${cell(prompt)},${cell(answer)}`);
	const flatColumns = { answer: 'answer' };
	for (const [name, text, more] of [
		['a.jsonl', lines, {}],
		['lines', lines, {}],
		['b.json', JSON.stringify({ data: rows }), {}],
		['c.csv', ['prompt,answer', ...flat].join('\r\n'), flatColumns],
	] as const) {
		await writeFile(join(folder, name), text);
		assert.deepEqual((await opened(join(folder, name), more)).problems.map(plain), problems.map(plain), name);
	}
	// Existing runs must remain resumable: the hash covers settings and text.
	const settings = { ...columns, heldOutShare: 0.2, heldOut: '', path: '' };
	const known = createHash('sha256')
		.update(`${JSON.stringify(settings)}\0${lines}\0\0`)
		.digest('hex');
	assert.equal((await opened(join(folder, 'a.jsonl'))).hash, known);
});

test('save_to_disk output gives the same problems, and the split of a DatasetDict is given or "train"', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'open-dataset-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const { problems } = await opened(join(fixtures, 'parquet'));
	const saved = await opened(join(fixtures, 'saved'));
	assert.deepEqual(saved.problems, problems);
	for (const [name, rows] of [
		['saved/data-00001-of-00002.arrow', 20],
		['dict', 6],
		['dict/test', 3],
	] as const) {
		assert.equal((await opened(join(fixtures, name))).problems.length, rows, name);
	}
	assert.equal((await opened(join(fixtures, 'dict'), { split: 'test' })).problems.length, 3);
	await assert.rejects(opened(join(fixtures, 'dict'), { split: 'dev' }), {
		reason: 'missing',
		message: /no split dev/,
	});
	await assert.rejects(openTable(join(fixtures, 'dict')), {
		reason: 'invalid',
		message: /dict contains several splits \(test, train\)/,
		action: /such as dict.test/,
	});
	const odd = join(folder, 'odd');
	await mkdir(odd);
	await writeFile(
		join(odd, 'dataset_dict.json'),
		JSON.stringify({ splits: ['../saved', 'a\u202Eb', 7, 'train', 'x.y'] }),
	);
	assert.deepEqual(await savedSplits(odd), ['train', 'x.y']);
	// The order comes from state.json, which can only name files in its folder.
	const copy = async (files: unknown) => {
		const place = await mkdtemp(join(folder, 'saved-'));
		for (const name of await readdir(join(fixtures, 'saved')))
			await copyFile(join(fixtures, 'saved', name), join(place, name));
		await writeFile(join(place, 'state.json'), JSON.stringify({ _data_files: files }));
		return place;
	};
	const [first, second] = ['data-00000-of-00002.arrow', 'data-00001-of-00002.arrow'];
	const turned = await openTable(await copy([{ filename: second }, { filename: first }]));
	t.after(() => turned.close());
	const [row] = await turned.rows(0, 1);
	assert.equal(columnCell(row?.value ?? {}, 'extra_info.index'), 20);
	for (const [files, reason] of [
		[[{ filename: '../a.arrow' }], 'corrupt'],
		[[{ filename: 'state.json' }], 'corrupt'],
		[[{ filename: 'data-7.arrow' }], 'missing'],
		[[], 'invalid'],
	] as const) {
		await assert.rejects(openTable(await copy(files)), { reason }, JSON.stringify(files));
	}
});

test('data that no recipe can read is rejected with its location and a suggested action', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'open-dataset-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const at = (name: string) => join(folder, name);
	await mkdir(at('empty'));
	await assert.rejects(opened(at('empty')), {
		reason: 'invalid',
		message: /contains neither Parquet files nor a dataset written by save_to_disk/,
	});
	await mkdir(at('mixed'));
	const [part = ''] = await readdir(join(fixtures, 'parquet'));
	for (const name of ['train.parquet', 'test.parquet']) {
		await copyFile(join(fixtures, 'parquet', part), join(folder, 'mixed', name));
	}
	await assert.rejects(opened(at('mixed')), { reason: 'invalid', message: /several splits \(test, train\)/ });
	await writeFile(at('latin.jsonl'), Buffer.from('{"prompt":"a","answer":1}\n\n{"prompt":"\u00E9"}\n', 'latin1'));
	await assert.rejects(opened(at('latin.jsonl'), { answer: 'answer' }), {
		reason: 'invalid',
		message: /latin\.jsonl, line 3, is not valid UTF-8/,
		action: /The encoding looks like ISO-8859-1/,
	});
	for (const [name, text, place] of [
		['row.csv', 'prompt,answer\na,1\n\u00E9,2\n', /row 2, is not valid UTF-8/],
		['head.csv', 'prompt,r\u00E9ponse\na,1\n', /head\.csv, line 1, is not valid UTF-8/],
		['list.json', '[{"prompt":"a","answer":1},{"prompt":"\u00E9","answer":2}]', /row 2, is not valid UTF-8/],
	] as const) {
		await writeFile(at(name), Buffer.from(text, 'latin1'));
		await assert.rejects(opened(at(name), { answer: 'answer' }), { message: place, action: /iconv/ }, name);
	}
	await writeFile(at('odd.jsonl'), '{"prompt":"a","answer":1}\n[1]\n');
	await assert.rejects(opened(at('odd.jsonl'), { answer: 'answer' }), /line 2, is not a JSON object/);
});

test('dataset check reads a Parquet folder with message prompts and nested answers', async () => {
	const { facts, columns: found } = await checkDataset(join(fixtures, 'parquet'), {}, [join(fixtures, 'parquet')]);
	assert.equal(facts.rows, 40);
	assert.deepEqual([found.prompt, found.answer], ['prompt', 'reward_model.ground_truth']);
	const saved = await checkDataset(join(fixtures, 'saved'), {}, [join(fixtures, 'parquet')]);
	assert.deepEqual([saved.facts, saved.columns], [facts, found]);
	const table = await openTable(join(fixtures, 'parquet'));
	const ends = await table.rows(12, 15);
	assert.deepEqual(
		ends.map(({ row, value }) => [row, columnCell(value ?? {}, 'extra_info.index')]),
		[
			[12, 12],
			[13, 13],
			[14, 14],
		],
	);
	assert.equal((await table.rows(39, 60)).length, 1);
	await table.close();
});
