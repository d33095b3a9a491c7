import assert from 'node:assert/strict';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { isOwnSearch } from '../../../src/runs/searchSeal.ts';
import { continueSearch, startSearch } from '../../../src/search/searchSession.ts';
import { readTreeLog } from '../../../src/search/treeLogFile.ts';
import { contextFor, folderFor, problem, scriptIn, specOf } from './searchFixtures.ts';

const canary = 'CANARY-7f3a91';

/** Starts a server that records everything it receives. */
async function listener(context: TestContext): Promise<{ readonly url: string; readonly heard: string[] }> {
	const heard: string[] = [];
	const server = createServer((request, response) => {
		heard.push(`${request.url} ${JSON.stringify(request.headers)}`);
		request.on('data', (chunk: Buffer) => heard.push(chunk.toString('utf8')));
		request.on('end', () => response.writeHead(500).end());
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	context.after(() => server.close());
	return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, heard };
}

/** Runs a search by this user to the end. */
async function started(context: TestContext) {
	const folder = await folderFor(context);
	const own = contextFor(context, folder);
	const search = { ...own, policies: { ...own.policies, environment: { SECRET: canary } } };
	const spec = specOf({ policy: { kind: 'scripted', file: await scriptIn(folder) }, strategy: 'mcts', guide: null });
	const log = join(folder, 'own.search.jsonl');
	const session = await startSearch({
		...{ log, context: search, problem },
		spec: { ...spec, strategy: 'self-consistency', params: { n: 3 } },
	});
	await session.result;
	return { folder, search, log, spec };
}

/** Copies the log with a modified specification in its first line, like one received from someone else. */
async function tampered(log: string, to: string, change: (spec: Record<string, unknown>) => object): Promise<string> {
	const [first, ...rest] = (await readFile(log, 'utf8')).split('\n');
	const start = JSON.parse(first as string) as Record<string, unknown>;
	const text = JSON.stringify({ ...start, spec: change(start.spec as Record<string, unknown>) });
	await writeFile(to, [text, ...rest].join('\n'));
	return to;
}

const more = { budget: { nodes: 3 }, action: { action: 'more' } } as const;

describe('a search log written by someone else', () => {
	it('cannot cause requests that send a key or text from the tree', async (context) => {
		const { folder, search, log } = await started(context);
		const { url, heard } = await listener(context);
		const policy = { kind: 'openai', name: 'helper', baseUrl: url, model: 'm', keyVariable: 'SECRET', retries: 0 };
		const changes: Readonly<Record<string, (spec: Record<string, unknown>) => object>> = {
			policy: (spec) => ({ ...spec, policy }),
			judge: (spec) => ({ ...spec, judge: { use: 'judge', policy } }),
			tools: (spec) => ({ ...spec, policy, tools: [{ use: 'workspace', folder }], strategy: 'reflexion' }),
			reward: (spec) => ({ ...spec, judge: { use: 'reward', reward: { file: join(folder, 'evil.reward.py') } } }),
		};
		for (const [name, change] of Object.entries(changes)) {
			const foreign = await tampered(log, join(folder, `${name}.search.jsonl`), change);
			const before = await readFile(foreign, 'utf8');
			await assert.rejects(continueSearch({ log: foreign, context: search, ...more }), {
				reason: 'denied',
				message: /You did not start .+ on this machine, or the log has changed since/,
			});
			assert.equal(await readFile(foreign, 'utf8'), before, name);
		}
		assert.deepEqual(heard, []);
	});

	it('continues with the specification given by the user', async (context) => {
		const { folder, search, log, spec } = await started(context);
		const foreign = await tampered(log, join(folder, 'f.search.jsonl'), (own) => ({ ...own, seed: 99 }));
		const given = { ...spec, strategy: 'self-consistency', params: { n: 5 } };
		const session = await continueSearch({ log: foreign, context: search, spec: given, ...more });
		assert.notEqual((await session.result).outcome.stop, 'policy');
	});

	it('is distinguished from a log by this user, which can be continued after renaming', async (context) => {
		const { folder, search, log } = await started(context);
		const moved = join(folder, 'moved.search.jsonl');
		await copyFile(log, moved);
		const { start } = (await readTreeLog(moved)).tree;
		assert.ok(start !== null && (await isOwnSearch(start)));
		assert.equal(await isOwnSearch({ ...start, seal: 'ab' }), false);
		const { seal: _, ...unsealed } = start;
		assert.equal(await isOwnSearch(unsealed), false);
		// A seal by another user does not match.
		assert.equal(await isOwnSearch(start, join(folder, 'home of another')), false);
		const session = await continueSearch({ log: moved, context: search, ...more });
		await session.result;
	});
});
