import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Failure } from '../../../../src/base/failure.ts';
import { treeFormats } from '../../../../src/core/search/formats/treeFormats.ts';
import { largestTreeFile, readTreeFile } from '../../../../src/search/formats/readTreeFile.ts';
import { depthOf, formatOfFolder, replay, treeFixtures } from './treeFixtures.ts';

let folder = '';
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'tree-files-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function written(value: unknown, name = 'tree.json'): Promise<string> {
	const path = join(folder, name);
	await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value));
	return path;
}

const fails = (reason: Failure['reason'], words: RegExp) => (error: unknown) => {
	assert.ok(error instanceof Failure, String(error));
	assert.equal(error.reason, reason);
	assert.match(error.toString(), words);
	return true;
};

describe('the format of a tree file', () => {
	it('is determined by content rather than name: each format accepts only its own files', async () => {
		for (const { folder: of, name, path } of treeFixtures) {
			const value: unknown = JSON.parse(await readFile(path, 'utf8'));
			const taken = treeFormats.filter((format) => format.recognize(value)).map((format) => format.name);
			assert.deepEqual(taken, [formatOfFolder[of]], name);
		}
	});

	it('is unknown for other values, and the error lists the supported formats', async () => {
		const others = [
			null,
			true,
			5,
			'logs',
			[],
			{},
			[[]],
			[{}],
			[null],
			{ logs: [] },
			{ logs: [{}] },
			{ logs: 5 },
			{ children: [] },
			{ children: {}, info: {} },
			{ children: {}, info: [] },
			{ fathers: {} },
			[{ ys: [] }],
			[{ steps: [] }],
			[{ role: 'user', content: 'Hello' }],
			{ nodes: {}, edges: {} },
			JSON.parse('{"__proto__": {"logs": [{"nodes": {}, "edges": {}}]}}'),
		];
		for (const value of others) {
			assert.deepEqual(
				treeFormats.filter((format) => format.recognize(value)),
				[],
				JSON.stringify(value),
			);
			await assert.rejects(
				readTreeFile(await written(JSON.stringify(value))),
				fails('unsupported', /Supported formats: Reasoning Lab logs; .*MathBlackBox/),
			);
		}
		await assert.rejects(readTreeFile(await written('not json {')), fails('corrupt', /is not JSON/));
		await assert.rejects(readTreeFile(await written('')), fails('corrupt', /is not JSON/));
	});

	it('requires a regular file of a manageable size', async () => {
		await assert.rejects(readTreeFile(join(folder, 'gone.json')), fails('missing', /no such file/));
		await assert.rejects(readTreeFile(folder), fails('invalid', /is not a regular file/));
		const path = join(folder, 'large.json');
		await writeFile(path, '[');
		await truncate(path, largestTreeFile + 1);
		await assert.rejects(readTreeFile(path), fails('unsupported', /larger than the limit of 64 MiB/));
	});

	it('does not allow links or pipes', { skip: process.platform === 'win32' }, async () => {
		await symlink(treeFixtures[0]?.path as string, join(folder, 'link.json'));
		await assert.rejects(readTreeFile(join(folder, 'link.json')), fails('invalid', /is not a regular file/));
		await promisify(execFile)('mkfifo', [join(folder, 'pipe.json')]);
		await assert.rejects(readTreeFile(join(folder, 'pipe.json')), fails('invalid', /is not a regular file/));
	});

	it('may be our own log, even with partial or invalid lines', async () => {
		const lines = [
			{
				t: 'start',
				at: 0,
				format: 1,
				id: 'own',
				strategy: 'beam',
				params: {},
				problem: { prompt: 'P' },
				policy: { name: 'x' },
				seed: 1,
			},
			{ t: 'node', at: 0, id: 0, parents: [], text: 'P', role: 'problem' },
			{ t: 'node', at: 1, id: 1, parents: [0], text: 'a', final: true, answer: '4' },
			{ t: 'node', at: 1, id: 2, parents: [0], text: 'b', final: true, answer: '5' },
			{ t: 'score', at: 2, id: 1, scorer: 's', value: 0.25 },
			{ t: 'score', at: 2, id: 2, scorer: 's', value: 0.75 },
		].map((line) => JSON.stringify(line));
		const path = await written(
			`${[...lines.slice(0, 4), 'noise', ...lines.slice(4)].join('\n')}\n{"t":"vis`,
			'own.jsonl',
		);
		const { format, trees, faults } = await readTreeFile(path);
		assert.equal(format, 'reasoning-lab');
		assert.deepEqual(faults, ['Line 5 is not JSON.']);
		assert.deepEqual(trees[0]?.facts, {
			nodes: 2,
			depth: 1,
			best: { path: [0, 2], value: 0.75 },
			measure: null,
			counts: { final: 2, roots: 1, visits: 0 },
		});
	});
});

describe('external graphs', () => {
	const blackBox = (fathers: Record<string, string | null>, childs: Record<string, string[]> = {}) => ({
		query: 'Q',
		ground_truth: '#### 4',
		answers_list: Object.keys(fathers),
		to_explore_reward: Object.fromEntries(Object.keys(fathers).map((key, i) => [key, [i]])),
		fathers,
		childs,
	});

	it('keep multiple parents, and put children after parents listed later', async () => {
		const value = blackBox({ a: 'b', b: null, c: 'b', d: 'a' }, { c: ['a', 'd'], b: ['a', 'c'] });
		const { trees } = await readTreeFile(await written(value));
		const tree = replay(trees[0]?.events ?? []);
		const parents = Object.fromEntries(
			tree.nodes.map((node) => [node.text, node.parents.map((id) => tree.node(id)?.text)]),
		);
		assert.deepEqual(parents, { b: [], c: ['b'], a: ['b', 'c'], d: ['a', 'c'] });
		assert.deepEqual(trees[0]?.faults, []);
		assert.equal(tree.skipped, 0);
	});

	it('lose the edges that close a cycle, with a message', async () => {
		const value = blackBox({ a: 'c', b: 'a', c: 'b', d: 'd', e: 'a' }, { d: ['d'], e: ['e'] });
		const { trees } = await readTreeFile(await written(value));
		const [one] = trees;
		const tree = replay(one?.events ?? []);
		assert.deepEqual([tree.nodes.length, tree.skipped, tree.roots.length], [5, 0, 2]);
		assert.deepEqual(one?.faults, ['2 answers are their own parent.', 'The tree has a cycle; 1 edge omitted.']);
		assert.equal(one?.facts.counts.selfLoops, 2);
	});

	it('from llm-reasoners may have cycles, dangling edges, and nodes that appear and disappear', async () => {
		const node = (id: number, data: unknown = {}) => [String(id), { id, data, selected_edge: null }];
		const edge = (id: number, source: unknown, target: unknown, Q: unknown) => [
			String(id),
			{ id, source, target, data: { Q } },
		];
		const snapshot = (nodes: unknown[][], edges: unknown[][]) => ({
			nodes: Object.fromEntries(nodes),
			edges: Object.fromEntries(edges),
		});
		const value = {
			logs: [
				snapshot(
					[node(0), node(1), node(2)],
					[edge(0, 0, 1, 0.5), edge(1, 0, 2, 0.25), edge(2, 2, 99, 1), edge(3, 1, 1, 2)],
				),
				snapshot([node(0), node(1)], [edge(0, 0, 1, 0.5)]),
				'rubbish',
				snapshot(
					[node(0), node(1), node(2), node(3), node(4)],
					[edge(0, 0, 1, 0.5), edge(1, 0, 2, 0.75), edge(2, 4, 3, 1), edge(3, 3, 4, 1)],
				),
			],
		};
		const { trees } = await readTreeFile(await written(value));
		const tree = replay(trees[0]?.events ?? []);
		assert.equal(tree.skipped, 0);
		assert.equal(tree.nodes.length, 5);
		assert.equal(replay(trees[0]?.events ?? [], 1).node(2)?.pruned, 'not in snapshot 2');
		assert.equal(tree.node(2)?.pruned, null);
		assert.deepEqual(trees[0]?.faults, [
			'Snapshot 3 lacks nodes or edges.',
			'Snapshot 4 has a cycle; 1 edge omitted.',
			'1 node from earlier snapshots is missing from later ones.',
		]);
	});

	it('from OpenR have their best node among the valued nodes below the root', async () => {
		const node = (info: object, children: object = {}) => ({
			info: { visit_cnt: null, prior_p: null, ...info },
			children,
		});
		const root = node(
			{ text_state: 'Q', value: 0.9 },
			{ a: node({ last_action: 'a' }), b: node({ last_action: 'b', value: -0.2 }), c: node({ last_action: 'c' }) },
		);
		const best = async (value: object) => {
			const [tree] = (await readTreeFile(await written(value))).trees;
			return tree?.facts.best ?? null;
		};
		assert.equal((await best(root))?.value, -0.2);
		assert.equal(await best(node({ text_state: 'Q', value: 0.9 }, { a: node({ last_action: 'a' }) })), null);
	});

	it('may be arbitrarily deep or wide', async () => {
		const step = '{"reasoning_step": "s", "visit_count": 1, "q_value": 0, "children": [';
		const last = '{"reasoning_step": "last", "visit_count": 1, "q_value": 1, "children": []}';
		const chain = `${step.repeat(20_000)}${last}${']}'.repeat(20_000)}`;
		const deep = await readTreeFile(await written(chain));
		assert.equal(deep.trees[0]?.facts.depth, 20_000);
		assert.equal(deep.trees[0]?.facts.best?.path.length, 20_001);
		const nested = `{"reasoning_step": "s", "visit_count": 1, "q_value": 0, "children": [], "args": ${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`;
		const inside = await readTreeFile(await written(nested));
		assert.ok(JSON.stringify(inside.trees[0]?.events).length < 1000);
		const cells = Array.from({ length: 3000 }, (_, i) => ({ actions: [`a${i % 7}`, `b${i}`], info: { r_word: i } }));
		const wide = await readTreeFile(await written([cells]));
		assert.equal(wide.trees[0]?.facts.nodes, 3007);
		assert.equal(depthOf(replay(wide.trees[0]?.events ?? [])), 2);
	});

	it('are truncated at their limits, with a message', async () => {
		const limits = { nodes: 10, trees: 2 };
		for (const { folder: of, path } of treeFixtures) {
			const format = treeFormats.find(({ name }) => name === formatOfFolder[of]);
			const entries = format?.trees(JSON.parse(await readFile(path, 'utf8')), limits) ?? [];
			for (const entry of entries) {
				if ('fault' in entry) continue;
				assert.ok(entry.facts.nodes <= limits.nodes);
				assert.equal(replay(entry.events).skipped, 0);
				if (of !== 'tree-mathblackbox') assert.match(entry.faults.join(' '), /[Tt]he first \d+ /);
			}
		}
	});
});
