import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { treeDrawing } from '../../../src/cli/treeDrawing.ts';
import { SearchTree } from '../../../src/core/search/searchTree.ts';
import { readTreeFile } from '../../../src/search/formats/readTreeFile.ts';
import { root } from '../../scripts/paths.ts';
import { builtProgram } from '../../support/programs.ts';

const run = (...args: string[]) =>
	promisify(execFile)(process.execPath, [builtProgram('dist/cli.js'), 'tree', ...args]);
const x1 = join(root, 'test/fixtures/tree-x1/graphs/mcts_tree_final.json');
const puzzles = join(
	root,
	'test/fixtures/tree-tot/logs/game24/gpt-4_0.7_propose1_value3_greedy5_start900_end1000.json',
);

test('a tree is printed as text and as JSON', async () => {
	const { stdout } = await run(x1);
	assert.match(stdout, /^x1\n21 nodes, depth 3, best q_value 1\.000, root visits 7, terminal 6\n\n\* 5 bags hold/);
	assert.match(stdout, /\n│ {2}│ {2}├─ \* ### Final answer: 17 {2}\(Q 1\.000, N 1, = 17\)\n/);
	const json = JSON.parse((await run(x1, '--json')).stdout);
	assert.deepEqual([json.format, json.nodes, json.depth, json.best.value], ['x1', 21, 3, 1]);
	assert.deepEqual(json.best.path, [0, 1, 3, 4]);
	assert.equal(json.best.text.at(-1), '### Final answer: 17');
});

test('one of several trees can be selected', async () => {
	const json = JSON.parse((await run(puzzles, '--tree', '4', '--json')).stdout);
	assert.deepEqual([json.name, json.nodes, json.trees.length, json.tree], ['puzzle 903', 67, 4, 4]);
	assert.match((await run(puzzles)).stdout, /^Tree of Thoughts, 4 trees\n> 1\. puzzle 900: 80 nodes/);
	await assert.rejects(run(puzzles, '--tree', '5'), /has 4 trees, but --tree is 5/);
});

test('text in a file cannot control the terminal, and a file that is not a tree is rejected with one message', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'tree-verb-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const file = join(folder, 'tree.json');
	const text = 'red \u001b[31m \u202eturned';
	await writeFile(file, JSON.stringify({ reasoning_step: text, visit_count: 0, q_value: 0, children: [] }));
	const { stdout } = await run(file);
	assert.ok(stdout.includes('red [31m') && !stdout.includes('\u001b') && !stdout.includes('\u202e'), stdout);
	await writeFile(file, '{"nothing": 1}');
	await assert.rejects(run(file), /is not a tree log in a known format\. Supported formats: /);
});

test('a drawing with few lines shows the best path and counts what it omits', async () => {
	const [one] = (await readTreeFile(puzzles)).trees;
	const tree = new SearchTree();
	for (const event of one?.events ?? []) tree.apply(event);
	const best = one?.facts.best?.path ?? [];
	const lines = treeDrawing(tree, best, 100, 8);
	assert.equal(lines.filter((line) => line.includes('* ')).length >= best.length, true);
	const drawn = lines.filter((line) => !line.includes('…') || line.includes('('));
	assert.equal(drawn.length, 8);
	assert.deepEqual(lines, [
		'* 4 5 6 10',
		'├─ 4 + 5 = 9 (left: 6 9 10)  (3.000)',
		'│  └─ … 9 more with descendants',
		'├─ 5 + 6 = 11 (left: 4 10 11)  (3.000)',
		'│  └─ … 7 more with descendants',
		'├─ 6 + 10 = 16 (left: 4 5 16)  (3.000)',
		'│  └─ … 7 more',
		'├─ * 4 * 5 = 20 (left: 6 10 20)  (3.000)',
		'│  ├─ * 10 - 6 = 4 (left: 4 20)  (60.0)',
		'│  │  ├─ * 4 + 20 = 24 (left: 24)  (60.0)',
		'│  │  │  └─ * Answer: (4 * 5) + (10 - 6) = 24  (60.0, = (4 * 5) + (10 - 6) = 24)',
		'│  │  └─ … 3 more',
		'│  └─ … 7 more with descendants',
		'└─ … 8 more with descendants',
	]);
});
