import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { AppendFile } from '../../../src/files/appendFile.ts';

test('concurrent appends take turns, with one handle, and terminate a partial line only once', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'append-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const path = join(folder, 'lines.jsonl');
	await writeFile(path, '{"torn');
	const file = new AppendFile(path);
	const lines = Array.from({ length: 20 }, (_, i) => `{"line":${i}}\n`);
	await Promise.all(lines.map((line) => file.append(line)));
	if (process.platform === 'linux') {
		const names = await readdir('/proc/self/fd');
		const links = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
		assert.equal(links.filter((link) => link === path).length, 1);
	}
	await file.close();
	await file.append('{"line":"last"}\n');
	await file.close();
	assert.equal(await readFile(path, 'utf8'), `{"torn\n${lines.join('')}{"line":"last"}\n`);
});
