import assert from 'node:assert/strict';
import { appendFile, copyFile, rename, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SearchTree } from '../../../../../src/core/search/searchTree.ts';
import { TreeSession, type TreeSessionOptions } from '../../../../../src/extension/panels/tree/treeSession.ts';
import { readTreeEventLines } from '../../../../../src/protocol/treeEventReader.ts';
import type { TreeEvent } from '../../../../../src/protocol/treeLog.ts';
import type { TreeSource, TreeViewEvent } from '../../../../../src/protocol/treeMessages.ts';
import { TreeFiles } from '../../../../../src/search/treeFiles.ts';
import { folderFor } from '../../../search/searchFixtures.ts';

const start = (spec?: unknown) =>
	JSON.stringify({
		...{ t: 'start', at: 0, format: 1, id: 'a', strategy: 'mcts', params: {}, problem: { prompt: 'p' } },
		...{ policy: { name: 'p' }, seed: 0, ...(spec === undefined ? {} : { spec }) },
	});
const node = (id: number, text = `node ${id}`) =>
	JSON.stringify({ t: 'node', at: id, id, parents: id === 0 ? [] : [Math.floor((id - 1) / 2)], text });
const linesFrom = (from: number, to: number) =>
	Array.from({ length: to - from }, (_, i) => `${node(from + i)}\n`).join('');

/** Stand-in for the view that asserts that events arrive in sequence. */
class View {
	readonly posted: TreeViewEvent[] = [];
	readonly sides = new Map<
		string,
		{ generation: number; events: TreeEvent[]; source: TreeSource; complete: boolean }
	>();
	failed: string | null = null;
	largest = 0;

	receive(event: TreeViewEvent): void {
		this.posted.push(event);
		if (event.type === 'open') {
			this.failed = null;
			this.sides.set(event.side, { ...event, events: [], complete: false });
		} else if (event.type === 'events') {
			const side = this.sides.get(event.side);
			assert.equal(side?.generation, event.generation);
			assert.equal(side.events.length, event.from);
			side.events.push(...readTreeEventLines(new TextDecoder().decode(event.lines)));
			side.complete = event.complete;
			this.largest = Math.max(this.largest, event.lines.length);
		} else if (event.type === 'source') {
			(this.sides.get(event.side) as { source: TreeSource }).source = event.source;
		} else if (event.type === 'failed') this.failed = event.message;
		else if (event.type === 'closeOther') this.sides.delete('other');
	}

	tree(side = 'main'): SearchTree {
		const tree = new SearchTree();
		for (const event of this.sides.get(side)?.events ?? []) tree.apply(event);
		return tree;
	}
}

function sessionFor(context: TestContext, path: string, options: Partial<TreeSessionOptions> = {}) {
	const view = new View();
	const files = new TreeFiles();
	const reader = {
		request: (method: string, params: { path: string; tree: number; from: number; limit: number; node: number }) =>
			method === 'trees'
				? files.trees(params.path)
				: method === 'treeEvents'
					? files.events(params.path, params.tree, params.from, params.limit)
					: files.text(params.path, params.tree, params.node),
	} as TreeSessionOptions['reader'];
	const session = new TreeSession({
		...{ path, tree: 0, other: null, reader, running: () => false, forbidden: () => null },
		post: async (event) => view.receive(event),
		...options,
	});
	context.after(() => session.dispose());
	return { session, view };
}

describe('tree panel events', () => {
	it('contain the log, follow it as it grows, and start over for a reloaded view', async (context) => {
		const log = join(await folderFor(context), 'a.jsonl');
		await writeFile(log, `${start({})}\n${linesFrom(0, 5)}`);
		let running = true;
		const { session, view } = sessionFor(context, log, { running: () => running });
		await session.begin();
		assert.equal(view.tree().nodes.length, 5);
		assert.deepEqual(view.sides.get('main')?.complete, true);
		const { source } = view.sides.get('main') as { source: TreeSource };
		assert.deepEqual([source.title, source.running, source.foreign, source.faults], ['a', true, null, []]);
		// A partially written line is not shown yet.
		await appendFile(log, `${linesFrom(5, 9)}{"t":"node","at":9`);
		await session.look();
		assert.equal(view.tree().nodes.length, 9);
		const result = view.posted.length;
		await session.look();
		assert.equal(view.posted.length, result);
		running = false;
		await session.look();
		assert.equal(view.sides.get('main')?.source.running, false);
		assert.equal(view.sides.get('main')?.source.canGoOn, true);
		assert.equal(view.sides.get('main')?.source.episodes, false);
		await appendFile(log, `,"id":9,"parents":[0],"text":"nine"}\n`);
		await session.look();
		assert.equal(view.tree().nodes.length, 10);
		// The page was reloaded.
		await session.begin();
		assert.equal(view.tree().node(9)?.text, 'nine');
		assert.equal(view.sides.get('main')?.events.length, 11);
	});

	it('start over when the log is rewritten, truncated or replaced', async (context) => {
		const folder = await folderFor(context);
		const log = join(folder, 'a.jsonl');
		await writeFile(log, `${start()}\n${linesFrom(0, 300)}`);
		const { session, view } = sessionFor(context, log);
		await session.begin();
		assert.equal(view.tree().nodes.length, 300);
		await truncate(log, `${start()}\n${linesFrom(0, 7)}`.length);
		await session.look();
		assert.equal(view.tree().nodes.length, 7);
		const other = join(folder, 'other');
		await writeFile(other, `${start()}\n${linesFrom(0, 12)}`);
		await rename(other, log);
		await session.look();
		assert.equal(view.tree().nodes.length, 12);
		await rename(log, other);
		await session.look();
		assert.match(view.failed ?? '', /no such file/);
		await rename(other, log);
		await session.look();
		assert.equal(view.tree().nodes.length, 12);
		assert.equal(view.failed, null);
	});

	it('count and report unreadable lines, and have a maximum size', async (context) => {
		const log = join(await folderFor(context), 'a.jsonl');
		const long = 'x'.repeat(50_000);
		const hostile = [
			'not json',
			'{"t":"node","at":1,"id":-4,"parents":[],"text":"x"}',
			'{"t":"unknown"}',
			'[]',
			JSON.stringify({ t: 'node', at: 1, id: 2, parents: [0], text: long, label: long, data: { a: long } }),
			JSON.stringify({ t: 'tool', at: 1, id: 2, name: 'a', arguments: { a: long }, result: long, error: long }),
			JSON.stringify({ t: 'fault', at: 1, part: 'policy', message: long }),
		];
		await writeFile(log, `${start({ secret: long })}\n${node(0)}\n${node(1)}\n${hostile.join('\n')}\n`);
		const { session, view } = sessionFor(context, log);
		await session.begin();
		const { source } = view.sides.get('main') as { source: TreeSource };
		assert.equal(source.faults.length, 4);
		assert.match(source.faults[0] as string, /^line 4 is not JSON/);
		assert.ok(view.largest < 60_000, `${view.largest} bytes`);
		assert.equal(view.tree().nodes.length, 3);
		const cut = view.sides.get('main')?.events.find((event) => event.t === 'node' && event.id === 2);
		assert.equal((cut as { cut?: boolean } | undefined)?.cut, true);
		await session.wantText('main', 2);
		const text = view.posted.find((event) => event.type === 'text');
		assert.equal(text?.type === 'text' && text.text, long);
		await assert.rejects(session.wantText('main', 4711), { reason: 'missing' });
	});

	it('contain a large log in parts, without blocking the editor for long', async (context) => {
		const log = join(await folderFor(context), 'a.jsonl');
		await writeFile(log, `${start()}\n${linesFrom(0, 20_000)}`);
		const { session, view } = sessionFor(context, log);
		let turns = 0;
		const clock = setInterval(() => turns++, 1);
		await session.begin();
		clearInterval(clock);
		assert.equal(view.tree().nodes.length, 20_000);
		assert.ok(view.posted.filter(({ type }) => type === 'events').length >= 5);
		assert.ok(view.largest < 2 << 20);
		assert.ok(turns > 3, `${turns} turns`);
	});

	it('indicate whether nodes are turns of episodes', async (context) => {
		const folder = await folderFor(context);
		const specs = [{ environment: { file: 'a.env.ts' } }, { environment: 'a.env.ts' }, null];
		for (const [i, episodes] of [true, false, false].entries()) {
			const log = join(folder, `${i}.jsonl`);
			await writeFile(log, `${start(specs[i])}\n${linesFrom(0, 2)}`);
			const { session, view } = sessionFor(context, log);
			await session.begin();
			assert.equal(view.sides.get('main')?.source.episodes, episodes);
		}
	});

	it('contain trees from other programs, one at a time, and explain why they cannot continue', async (context) => {
		const log = join(await folderFor(context), 'x1.json');
		await copyFile(
			fileURLToPath(new URL('../../../../fixtures/tree-x1/graphs/mcts_tree_final.json', import.meta.url)),
			log,
		);
		const { session, view } = sessionFor(context, log);
		await session.begin();
		const { source, complete } = view.sides.get('main') as { source: TreeSource; complete: boolean };
		assert.ok(source.foreign !== null && complete);
		assert.match(String(source.canGoOn), /created by another program/);
		assert.ok(view.tree().nodes.length > 3);
		const [root] = view.tree().nodes;
		await session.wantText('main', 0);
		assert.equal(view.posted.at(-1)?.type === 'text', true);
		assert.ok(root);
		await session.choose(0);
		assert.equal(view.sides.get('main')?.generation, 2);
		await writeFile(log, '{"nothing": 1}');
		await session.look();
		assert.match(view.failed ?? '', /not a tree log/);
	});

	it('include a second log to compare with, which is followed too, until it is closed', async (context) => {
		const folder = await folderFor(context);
		const [log, other] = [join(folder, 'a.jsonl'), join(folder, 'b.jsonl')];
		await writeFile(log, `${start()}\n${linesFrom(0, 3)}`);
		await writeFile(other, `${start()}\n${linesFrom(0, 6)}`);
		const { session, view } = sessionFor(context, log);
		await session.begin();
		await session.compare(other);
		assert.deepEqual([view.tree().nodes.length, view.tree('other').nodes.length], [3, 6]);
		await appendFile(other, linesFrom(6, 8));
		await session.look();
		assert.equal(view.tree('other').nodes.length, 8);
		assert.deepEqual(session.paths, [log, other]);
		await session.compare(null);
		assert.equal(view.sides.has('other'), false);
	});

	it('do not follow links or read folders', async (context) => {
		const folder = await folderFor(context);
		await writeFile(join(folder, 'real.jsonl'), `${start()}\n${linesFrom(0, 3)}`);
		await symlink(join(folder, 'real.jsonl'), join(folder, 'link.jsonl'));
		for (const path of [join(folder, 'link.jsonl'), folder]) {
			const { session, view } = sessionFor(context, path);
			await session.begin();
			assert.match(view.failed ?? '', /not a regular file/);
		}
	});
});
