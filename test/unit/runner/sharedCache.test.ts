/** Tests the folders that all clones share: each is complete or absent, however its creating process ends. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { type SharedFolder, sharedCache, sharedFolder } from '../../scripts/sharedCache.ts';

const work = mkdtempSync(join(tmpdir(), 'sc-'));
const named = process.env.REASONING_LAB_TEST_CACHE;
let cache = '';
beforeEach(() => {
	cache = mkdtempSync(join(work, 'c-'));
	process.env.REASONING_LAB_TEST_CACHE = cache;
});
after(() => {
	if (named === undefined) delete process.env.REASONING_LAB_TEST_CACHE;
	else process.env.REASONING_LAB_TEST_CACHE = named;
	rmSync(work, { recursive: true, force: true });
});

/** Returns the folders, excluding locks. */
const folders = () => readdirSync(cache).filter((name) => !name.endsWith('.lock'));

function thing(more: Partial<SharedFolder> = {}): SharedFolder {
	return {
		kind: 'thing',
		key: '1',
		what: 'a thing',
		make: async (folder) => writeFileSync(join(folder, 'content'), 'whole'),
		say: () => undefined,
		...more,
	};
}

/** Starts a process that creates part of the folder, then waits until `go` exists. */
function maker(go: string): ChildProcess {
	const program = `
		import { existsSync, writeFileSync } from 'node:fs';
		import { sharedFolder } from ${JSON.stringify(join(import.meta.dirname, '../../scripts/sharedCache.ts'))};
		const make = async (folder, signal) => {
			writeFileSync(folder + '/part', '');
			console.log('making');
			while (!existsSync(${JSON.stringify(go)}) && !signal.aborted) await new Promise((done) => setTimeout(done, 20));
			writeFileSync(folder + '/content', 'theirs');
		};
		await sharedFolder({ kind: 'thing', key: '1', what: 'a thing', make, say: console.log });`;
	return spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'pipe'] });
}

async function making(child: ChildProcess): Promise<void> {
	let text = '';
	for await (const more of child.stdout ?? []) {
		text += more;
		if (text.includes('making')) return;
	}
	throw new Error(`It does not begin: ${text}`);
}

describe('a folder shared between clones', () => {
	it('is created once per key', async () => {
		let made = 0;
		const counted = (key: string) =>
			sharedFolder(
				thing({
					key,
					make: async () => {
						made++;
					},
				}),
			);
		const first = await counted('1');
		assert.equal(await counted('1'), first);
		assert.notEqual(await counted('2'), first);
		assert.equal(made, 2);
		assert.equal(folders().length, 2);
	});

	it('is absent if creation fails', async () => {
		const make = async (folder: string) => {
			writeFileSync(join(folder, 'part'), '');
			throw new Error('no network');
		};
		await assert.rejects(sharedFolder(thing({ make })), /no network/);
		assert.deepEqual(folders(), []);
		assert.equal(readFileSync(join(await sharedFolder(thing()), 'content'), 'utf8'), 'whole');
	});

	it('is created by one of two processes while the other waits', async () => {
		const go = join(work, 'go');
		const child = maker(go);
		await making(child);
		const lines: string[] = [];
		const waiting = sharedFolder(
			thing({
				say: (line) => {
					lines.push(line);
					writeFileSync(go, '');
				},
			}),
		);
		const folder = await waiting;
		assert.match(lines.join(), /Waiting for another process that is creating a thing/);
		assert.equal(readFileSync(join(folder, 'content'), 'utf8'), 'theirs');
		if (child.exitCode === null) await once(child, 'exit');
	});

	it('is recreated if its creating process was killed', { timeout: 60_000 }, async () => {
		const child = maker(join(work, 'never'));
		await making(child);
		child.kill('SIGKILL');
		await once(child, 'exit');
		assert.deepEqual(folders(), ['thing-1']);
		const folder = await sharedFolder(thing());
		assert.deepEqual(readdirSync(folder).sort(), ['.complete', 'content']);
	});

	const posix = process.platform === 'win32' ? 'needs signals' : false;
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
		it(`leaves nothing behind if its process gets ${signal}`, { skip: posix }, async () => {
			const child = maker(join(work, 'never'));
			await making(child);
			child.kill(signal);
			const [code] = await once(child, 'exit');
			assert.equal(code, 1);
			assert.deepEqual(folders(), []);
		});
	}

	it('does not block a waiting process that is interrupted', { skip: posix }, async () => {
		const first = maker(join(work, 'never'));
		await making(first);
		const second = maker(join(work, 'never'));
		const [line] = await once(second.stdout as NodeJS.ReadableStream, 'data');
		assert.match(String(line), /Waiting for another process that is creating a thing/);
		second.kill('SIGINT');
		assert.deepEqual(await once(second, 'exit'), [1, null]);
		assert.deepEqual(folders(), ['thing-1']);
		first.kill('SIGINT');
		await once(first, 'exit');
	});

	it('is removed if unused for a long time when another one of the same kind is created', async () => {
		const old = await sharedFolder(thing({ key: 'old' }));
		const used = await sharedFolder(thing({ key: 'used' }));
		const other = await sharedFolder(thing({ kind: 'other' }));
		const longAgo = new Date(Date.now() - 40 * 24 * 3600 * 1000);
		for (const folder of [old, used, other]) utimesSync(join(folder, '.complete'), longAgo, longAgo);
		await sharedFolder(thing({ key: 'used' }));
		await sharedFolder(thing({ key: 'new' }));
		assert.deepEqual([old, used, other].map(existsSync), [false, true, true]);
	});

	it('is in the system cache folder or in a configured location', () => {
		assert.equal(sharedCache({ REASONING_LAB_TEST_CACHE: '/named', XDG_CACHE_HOME: '/xdg' }), '/named');
		assert.equal(sharedCache({ XDG_CACHE_HOME: '/xdg' }), join('/xdg', 'reasoning-lab-tests'));
		assert.match(sharedCache({}), /reasoning-lab-tests$/);
	});
});
