import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readDataFile } from '../../../src/runs/openDataset.ts';
import { openNamed, readNamed } from '../../../src/runs/safeFile.ts';

test('a file of data is text in UTF-8, or is refused with its line and the encoding that it seems to have', async (t) => {
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
		// A character that the line's end cuts off.
		['torn', Buffer.from([0x7b, 0xe4, 0xb8]), 'ISO-8859-1|WINDOWS-1252'],
	] as const) {
		const path = await write(`${name}.jsonl`, lines(odd));
		await assert.rejects(readDataFile(path), {
			reason: 'invalid',
			message: `The dataset ${path}, line 4, is not UTF-8.`,
			action: new RegExp(`It looks like (${encoding}): save it as UTF-8, for example by iconv -f`),
		});
	}
	await assert.rejects(readDataFile(await write('wide.jsonl', Buffer.from('\uFEFF{"a": "é"}', 'utf16le'))), {
		action: /It looks like UTF-16/,
	});
});

test('a named file is never a pipe that is waited for, nor a device or a folder', {
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
