import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { IndexClient, type IndexClientOptions } from '../../../../src/extension/rolloutIndex/indexClient.ts';
import type { IndexNews } from '../../../../src/protocol/rolloutIndex.ts';
import { builtProgram } from '../../../support/programs.ts';
import { folderFor, gone, runIn } from '../../rolloutIndex/ownRun.ts';

const program = builtProgram('dist/rolloutIndex.js');

function clientFor(
	context: TestContext,
	options: Partial<IndexClientOptions> = {},
): IndexClient & { readonly words: string[] } {
	const words: string[] = [];
	const client = new IndexClient({ program, storage: null, log: (message) => words.push(message), ...options });
	context.after(() => client.dispose());
	return Object.assign(client, { words });
}

const count = async (client: IndexClient) =>
	(await client.request('sql', { sql: 'select count(*) from rollouts', limit: 1 })).rows[0]?.[0];

describe('index worker', () => {
	it('starts on the first request, gets the run list, and reports progress', async (context) => {
		const run = await runIn(await folderFor(context));
		const client = clientFor(context);
		const reported: IndexNews<'progress'>[] = [];
		client.onProgress((news) => reported.push(news));
		client.setRuns([run]);
		assert.equal(client.pid, null);
		const progress = await client.request('index', { run });
		assert.deepEqual([progress.state, progress.rollouts], ['ready', 60]);
		assert.ok(client.pid !== null);
		assert.equal(await count(client), 60);
		assert.ok(reported.some(({ state }) => state === 'ready'));
		const hits: IndexNews<'hits'>[] = [];
		client.onHits((news) => hits.push(news));
		const query = { pattern: 'e', regex: false, caseSensitive: true };
		const found = await client.request('search', { search: 'a', query, filter: {}, limit: 5 });
		assert.equal(found.hits, 5);
		assert.equal(hits.flatMap((news) => news.hits).length, 5);
	});

	it('passes failures on, and reports unknown methods as failures', async (context) => {
		const client = clientFor(context);
		await assert.rejects(client.request('sql', { sql: 'drop table run', limit: 1 }), { reason: 'denied' });
		await assert.rejects(client.request('sql', { sql: 'select 1' } as never), { reason: 'invalid' });
		await assert.rejects(client.request('nothing' as never, {} as never), { reason: 'unsupported' });
		const controller = new AbortController();
		const asked = client.request(
			'sql',
			{ sql: 'select count(*) from range(1000000000000)', limit: 1 },
			controller.signal,
		);
		setTimeout(() => controller.abort(), 50);
		await assert.rejects(asked, { reason: 'cancelled' });
		assert.deepEqual((await client.request('sql', { sql: 'select 1', limit: 1 })).rows, [[1]]);
	});

	it('restarts after a crash with its previous state, failing the requests in progress', async (context) => {
		const folder = await folderFor(context);
		const run = await runIn(join(folder, 'run'));
		const client = clientFor(context, { storage: join(folder, 'index') });
		client.setRuns([run]);
		await client.request('index', { run });
		const first = client.pid as number;
		const asked = client.request('sql', { sql: 'select count(*) from range(1000000000000)', limit: 1 });
		setTimeout(() => process.kill(first, 'SIGKILL'), 100);
		await assert.rejects(asked, { reason: 'unavailable' });
		assert.equal(await count(client), 60);
		assert.notEqual(client.pid, first);
		assert.match(client.words.join(), /SIGKILL/);
	});

	it('is not restarted indefinitely', async (context) => {
		const client = clientFor(context, { program: join(await folderFor(context), 'missing.js') });
		for (let i = 0; i < 4; i++) await assert.rejects(client.request('status', {}), { reason: 'unavailable' });
		await assert.rejects(client.request('status', {}), { reason: 'unavailable', message: /exited 4 times/ });
		const without = clientFor(context, { node: () => '/nowhere/node' });
		await assert.rejects(without.request('status', {}), { reason: 'unavailable' });
	});

	it('restarts itself if a statement does not stop, and answers other requests', async (context) => {
		const client = clientFor(context);
		await client.request('status', {});
		const first = client.pid as number;
		const stuck = client.request('sql', {
			sql: "select sum(levenshtein(repeat('a', 200000), repeat('b', 200000 + range::int))) from range(1000)",
			limit: 1,
			timeoutMs: 300,
		});
		await assert.rejects(stuck, { reason: 'timeout' });
		await gone(first);
		assert.deepEqual((await client.request('sql', { sql: 'select 2', limit: 1 })).rows, [[2]]);
		assert.notEqual(client.pid, first);
	});

	it('exits with its window, even while busy', async (context) => {
		const client = clientFor(context);
		await client.request('status', {});
		const pid = client.pid as number;
		const asked = client.request('sql', { sql: 'select count(*) from range(1000000000000)', limit: 1 });
		client.dispose();
		await assert.rejects(asked, { reason: 'cancelled' });
		await gone(pid);
		await assert.rejects(client.request('status', {}), { reason: 'cancelled' });
	});

	it('exits when its parent is killed', async () => {
		const { spawn } = await import('node:child_process');
		const source = `
			import { IndexClient } from ${JSON.stringify(new URL('../../../../src/extension/rolloutIndex/indexClient.ts', import.meta.url).href)};
			const client = new IndexClient({ program: ${JSON.stringify(program)}, storage: null, log() {} });
			await client.request('status', {});
			console.log(client.pid);
		`;
		const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
			stdio: ['ignore', 'pipe', 'inherit'],
		});
		const [data] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
		child.kill('SIGKILL');
		await gone(Number(data));
	});
});
