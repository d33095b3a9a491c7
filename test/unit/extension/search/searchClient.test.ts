import assert from 'node:assert/strict';
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SearchClient } from '../../../../src/extension/search/searchClient.ts';
import type { SearchNews } from '../../../../src/protocol/searchWorker.ts';
import { isBeingSearched, readSearchSummary } from '../../../../src/runs/searchLog.ts';
import { readTreeLog } from '../../../../src/search/treeLogFile.ts';
import { builtProgram } from '../../../support/programs.ts';
import { adder, folderFor, linesOf, problem, scriptIn } from '../../search/searchFixtures.ts';

const program = builtProgram('dist/search.js');

function clientFor(context: TestContext) {
	const client = new SearchClient({ program, log: () => undefined });
	context.after(() => client.dispose());
	const news: SearchNews<'changed'>[] = [];
	client.onChanged((one) => news.push(one));
	return Object.assign(client, { news });
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
	for (const end = Date.now() + 60_000; Date.now() < end; ) {
		if (await holds()) return;
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
	throw new Error(`Timed out waiting for: ${what}`);
}

const isGone = (pid: number): boolean => {
	try {
		process.kill(pid, 0);
		return false;
	} catch {
		return true;
	}
};

/** Delays each completion so that a test can act in the middle of a search. */
const slow = { ...adder, rules: adder.rules.map((rule) => ({ ...rule, delayMs: 40 })) };

describe('search worker', () => {
	it('runs several searches in parallel, reports their progress, and stops one of them', async (context) => {
		const folder = await folderFor(context);
		const client = clientFor(context);
		const policy = { kind: 'scripted', file: await scriptIn(folder, slow) } as const;
		const logs = ['a', 'b'].map((name) => join(folder, 'searches', `${name}.jsonl`));
		const spec = { policy, strategy: 'sequential-revision', params: { chains: 16, revisions: 256 }, concurrency: 1 };
		await Promise.all(logs.map((log) => client.request('start', { spec, problem, log })));
		await until(
			'both grow',
			async () => (await client.request('running', {})).searches.filter(({ nodes }) => nodes > 3).length === 2,
		);
		const [first, second] = logs as [string, string];
		await client.request('stop', { log: first });
		assert.deepEqual(
			(await client.request('running', {})).searches.map(({ log }) => log),
			[second],
		);
		assert.equal((await linesOf(first)).at(-1)?.stop, 'stopped');
		await assert.rejects(client.request('start', { spec, problem, log: second }), { reason: 'exists' });
		await assert.rejects(client.request('continue', { log: second, budget: {}, action: { kind: 'more' } }), {
			reason: 'busy',
		});
		// Pruning a node of a running search does not stop it.
		await client.request('prune', { log: second, node: 1, restore: false });
		const { nodes } = (await readTreeLog(second)).tree;
		assert.ok(nodes[1]?.pruned);
		await until('more nodes', async () => (await readTreeLog(second)).tree.nodes.length > nodes.length);
		await client.request('stop', { log: second });
		assert.equal(client.news.at(-1)?.state, 'ended');
		assert.equal(client.news.at(-1)?.failure, null);
	});

	it('can be killed, after which the search continues from its log', async (context) => {
		const folder = await folderFor(context);
		const client = clientFor(context);
		const policy = { kind: 'scripted', file: await scriptIn(folder, slow) } as const;
		const log = join(folder, 'a.jsonl');
		const spec = {
			policy,
			strategy: 'mcts',
			guide: { use: 'mean-logprob' },
			budget: { simulations: 100_000 },
		} as const;
		await client.request('start', { spec, problem, log });
		await until('the tree to grow', async () => ((await readSearchSummary(log))?.nodes ?? 0) > 2);
		const pid = client.pid as number;
		process.kill(pid, 'SIGKILL');
		await until('the worker to exit', () => isGone(pid) && client.pid === null);
		assert.equal((await readSearchSummary(log))?.end, null);
		assert.equal(await isBeingSearched(log), false);
		// Simulates an interrupted write.
		await appendFile(log, '{"t":"node","at":1,"id":9');
		const before = await readTreeLog(log);
		assert.ok(before.torn.length > 0);
		await client.request('continue', { log, budget: { simulations: 2 }, action: { kind: 'more' } });
		await until('the end of the search', () => client.news.some(({ state }) => state === 'ended'));
		const after = await readTreeLog(log);
		assert.equal(after.unreadable, 0);
		assert.deepEqual(after.events.slice(0, before.events.length), before.events);
		assert.equal(after.tree.outcome?.stop, 'simulations');
		assert.notEqual(client.pid, pid);
	});

	it('exits with its window, and its logs record the end', async (context) => {
		const folder = await folderFor(context);
		const client = clientFor(context);
		const policy = { kind: 'scripted', file: await scriptIn(folder, slow) } as const;
		const log = join(folder, 'a.jsonl');
		const spec = { policy, strategy: 'sequential-revision', params: { chains: 16, revisions: 256 }, concurrency: 1 };
		await client.request('start', { spec, problem, log });
		const pid = client.pid as number;
		client.dispose();
		await until('the worker to exit', () => isGone(pid));
		assert.equal((await linesOf(log)).at(-1)?.stop, 'stopped');
		assert.equal(await isBeingSearched(log), false);
	});

	it('passes failures on, and reads external trees in chunks', async (context) => {
		const folder = await folderFor(context);
		const client = clientFor(context);
		const file = join(folder, 'none.json');
		await assert.rejects(client.request('probe', { policy: { kind: 'scripted', file } }), { reason: 'missing' });
		await assert.rejects(client.request('nothing' as never, {} as never), { reason: 'unsupported' });
		await assert.rejects(client.request('stop', {} as never), { reason: 'invalid' });
		const probe = await client.request('probe', { policy: { kind: 'scripted', file: await scriptIn(folder) } });
		assert.equal(probe.capabilities.prefix, true);
		const path = fileURLToPath(new URL('../../../fixtures/tree-x1/graphs/mcts_tree_final.json', import.meta.url));
		const { format, trees } = await client.request('trees', { path });
		assert.match(format, /x1/i);
		const all = trees[0]?.events as number;
		const some = await client.request('treeEvents', { path, tree: 0, from: 3, limit: 5 });
		assert.deepEqual([some.events.length, some.total], [5, all]);
		const root = await client.request('treeText', { path, tree: 0, node: 0 });
		assert.ok(root.text.length > 0);
		await assert.rejects(client.request('treeEvents', { path, tree: 99, from: 0, limit: 5 }), { reason: 'missing' });
		await writeFile(file, 'no json');
		await assert.rejects(client.request('trees', { path: file }), { reason: 'corrupt' });
	});
});
