import assert from 'node:assert/strict';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { isLoopbackAddress, isServerAddress } from '../../../src/core/episode/serverAddress.ts';
import { declaresVerifiers, environmentSource } from '../../../src/episodes/environmentSource.ts';

let folder = '';
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'sources-'));
	await mkdir(join(folder, 'package'));
	await writeFile(join(folder, 'package/pyproject.toml'), '[project]\nname = "a"\n');
	await mkdir(join(folder, 'server/.venv/bin'), { recursive: true });
	await writeFile(join(folder, 'server/.venv/bin/python'), '');
	await writeFile(join(folder, 'server/openenv.yaml'), 'name: a\n');
	await writeFile(join(folder, 'server/pyproject.toml'), '[project]\nname = "a"\n');
	await mkdir(join(folder, 'empty'));
	await writeFile(join(folder, 'a.env.py'), '');
	await writeFile(join(folder, 'a.py'), '');
});

test('a string can name a file, a folder, an address, or a package', async () => {
	const of = (written: string) => environmentSource(written);
	assert.deepEqual(await of(join(folder, 'a.env.py')), { kind: 'file', file: join(folder, 'a.env.py') });
	assert.deepEqual(await of(join(folder, 'package')), { kind: 'verifiers', file: join(folder, 'package') });
	assert.deepEqual(await of('gsm8k-v1'), { kind: 'verifiers', file: 'gsm8k-v1' });
	assert.deepEqual(await of('ws://localhost:8000'), { kind: 'openenv', file: 'ws://localhost:8000' });
	const withArguments = await environmentSource('gsm8k-v1', { arguments: { split: 'test' } });
	assert.deepEqual(withArguments, { kind: 'verifiers', file: 'gsm8k-v1', arguments: { split: 'test' } });
});

test("a folder's own Python environment is used", { skip: process.platform === 'win32' }, async () => {
	const server = join(folder, 'server');
	const python = join(server, '.venv/bin/python');
	assert.deepEqual(await environmentSource(server), { kind: 'openenv', file: server, python });
});

test('anything else is rejected with a reason', async () => {
	for (const [written, words] of [
		[join(folder, 'b.env.py'), /b\.env\.py does not exist/],
		['missing.env.py', /missing\.env\.py does not exist/],
		[join(folder, 'a.py'), /is not an environment file/],
		[join(folder, 'empty'), /does not contain an environment/],
		['http://user:secret@host', /is not an environment file/],
		['../up', /is not an environment file/],
		['other.py', /is not an environment file/],
	] as const) {
		await assert.rejects(environmentSource(written), (error) => error instanceof Failure && words.test(error.message));
	}
	const file = join(folder, 'a.env.py');
	await assert.rejects(environmentSource(file, { arguments: {} }), /do not accept arguments/);
});

test('server addresses and loopback addresses are recognized', () => {
	for (const good of ['http://localhost', 'https://a.b.c:80/x/y', 'WS://[::1]:8000', 'http://127.0.0.1:1']) {
		assert.ok(isServerAddress(good), good);
	}
	for (const bad of [
		'',
		'localhost:80',
		'file:///a',
		'http://',
		'http://a b',
		'http://u@h',
		'http://h?x=1',
		'http://h/#a',
	]) {
		assert.ok(!isServerAddress(bad), bad);
	}
	for (const near of ['http://localhost:1', 'ws://127.9.9.9', 'http://[::1]/x'])
		assert.ok(isLoopbackAddress(near), near);
	for (const far of ['http://localhost.example.com', 'http://127.0.0.1.example.com', 'http://10.0.0.1', 'localhost']) {
		assert.ok(!isLoopbackAddress(far), far);
	}
});

test('a verifiers environment is recognized by a pyproject.toml that depends on verifiers', async () => {
	const path = join(folder, 'declared.toml');
	for (const [text, expected] of [
		['dependencies = ["verifiers>=0.4,<0.5"]', true],
		['dependencies = [\n  "numpy",\n  "verifiers[openenv]",\n]', true],
		["dependencies = ['verifiers']", true],
		['dependencies = ["verifiers-extra"]', false],
		['name = "my-verifiers"', false],
		['', false],
	] as const) {
		await writeFile(path, text);
		assert.equal(await declaresVerifiers(path), expected, text);
	}
	assert.equal(await declaresVerifiers(join(folder, 'none.toml')), false);
});
