import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decode } from '../../../../src/protocol/decode.ts';
import { treeEventSchema } from '../../../../src/protocol/treeLog.ts';
import { readTreeFile } from '../../../../src/search/formats/readTreeFile.ts';
import { depthOf, expectedOf, formatOfFolder, replay, type TreeFolder, treeFixtures } from './treeFixtures.ts';

type Numbers = Readonly<Record<string, number>>;

const near = (actual: number | null | undefined, wanted: number, of: string) =>
	assert.ok(typeof actual === 'number' && Math.abs(actual - wanted) <= 2e-6, `${of}: ${actual} is not ${wanted}`);

async function read(of: TreeFolder, name: string) {
	const fixture = treeFixtures.find((one) => one.folder === of && one.name === name);
	assert.ok(fixture, `${of}/${name}`);
	const file = await readTreeFile(fixture.path);
	assert.equal(file.format, formatOfFolder[of]);
	assert.deepEqual(file.faults, []);
	for (const { faults } of file.trees) assert.deepEqual(faults, []);
	return file.trees;
}

describe('numbers for external trees', () => {
	it('come from events that match the schema and form a tree with nothing left over', async () => {
		for (const { folder, name } of treeFixtures) {
			for (const { events, facts } of await read(folder, name)) {
				for (const event of events) {
					const decoded = decode(treeEventSchema, JSON.parse(JSON.stringify(event)));
					assert.deepEqual(decoded, { ok: true, value: event });
				}
				const tree = replay(events);
				assert.equal(tree.skipped, 0);
				assert.equal(tree.nodeCount, facts.nodes);
				// The root is the problem, except where each root is an attempt; a reverted snapshot also reverts its count.
				assert.equal(tree.nodes.length - tree.nodeCount, folder === 'tree-mathblackbox' ? 0 : 1);
				assert.equal(depthOf(tree), facts.depth);
				assert.equal(tree.start?.foreign, formatOfFolder[folder]);
				assert.ok(tree.outcome);
			}
		}
	});

	for (const name of ['mcts_log.json', 'beam_log.json']) {
		it(`match for llm-reasoners, snapshot by snapshot: ${name}`, async () => {
			const wanted = expectedOf<{ snapshots: number; per_snapshot: Numbers[]; unexpanded_nodes_last?: number }>(
				'tree-llm-reasoners',
				name,
			);
			const [tree] = await read('tree-llm-reasoners', name);
			assert.ok(tree);
			assert.equal(tree.facts.counts.snapshots, wanted.snapshots);
			if (wanted.unexpanded_nodes_last !== undefined) {
				assert.equal(tree.facts.counts.unexpanded, wanted.unexpanded_nodes_last);
			}
			wanted.per_snapshot.forEach((numbers, i) => {
				const at = replay(tree.events, i);
				assert.equal(at.nodes.length, numbers.nodes);
				assert.equal(at.nodes.flatMap(({ parents }) => parents).length, numbers.edges);
				assert.equal(depthOf(at), numbers.depth);
				const measure = name === 'mcts_log.json' ? 'Q' : 'reward';
				const values = at.nodes.map(({ scores }) => scores.get(measure) ?? Number.NEGATIVE_INFINITY);
				near(Math.max(...values), numbers.best_value as number, `snapshot ${i}`);
			});
			near(tree.facts.best?.value, wanted.per_snapshot.at(-1)?.best_value as number, 'best');
		});
	}

	it('match for x1', async () => {
		const name = 'graphs/mcts_tree_final.json';
		const wanted = expectedOf('tree-x1', name);
		const [one] = await read('tree-x1', name);
		const tree = replay(one?.events ?? []);
		assert.deepEqual(
			[one?.facts.nodes, one?.facts.depth, one?.facts.best?.value],
			[(wanted.nodes as number) - 1, wanted.depth, wanted.best_value],
		);
		const terminal = tree.nodes.filter(({ final }) => final);
		assert.equal(terminal.length, wanted.terminal_nodes);
		assert.equal(Math.max(...terminal.map(({ scores }) => scores.get('reward') ?? -9)), wanted.best_terminal_reward);
		assert.equal(tree.nodes[0]?.visits, wanted.root_visits);
		near(tree.q(0), 0.0829980398933333, 'Q of the root');
		// The best node is an answer, not an intermediate step with the same value.
		const best = tree.node(one?.facts.best?.path.at(-1) ?? -1);
		assert.deepEqual([best?.final, best?.answer], [true, '17']);
		assert.equal(tree.start?.problem.answer, '17');
		assert.equal(tree.start?.params.num_new_children, 3);
	});

	for (const name of ['tree_mcts.json', 'tree_beam.json']) {
		it(`match for OpenR: ${name}`, async () => {
			const wanted = expectedOf('tree-openr', name);
			const [one] = await read('tree-openr', name);
			const tree = replay(one?.events ?? []);
			assert.deepEqual([one?.facts.nodes, one?.facts.depth], [(wanted.nodes as number) - 1, wanted.depth]);
			near(one?.facts.best?.value, wanted.best_value as number, 'best');
			assert.equal(tree.nodes.filter(({ visits }) => visits > 0).length, wanted.visited_nodes);
			assert.equal(tree.nodes.filter(({ final }) => final).length, wanted.terminated_nodes);
			assert.equal(tree.nodes[0]?.visits, wanted.root_visits);
			if (name === 'tree_mcts.json') near(tree.q(0), 0.5766666666666667, 'Q of the root');
			assert.equal(tree.nodes[1]?.text, 'Step 1: The triangle has legs 6 and 8.\n');
			assert.equal(tree.nodes[1]?.prior, name === 'tree_mcts.json' ? 0.1426 : 0.25);
			assert.match(tree.start?.problem.prompt ?? '', /^A right triangle/);
		});
	}

	it('match for Tree of Thoughts, game of 24 and text', async () => {
		for (const name of [
			'logs/game24/gpt-4_0.7_propose1_value3_greedy5_start900_end1000.json',
			'logs/text/gpt-4_1.0_generate_sample_select_greedy_sample5_start0_end100.json',
		]) {
			const wanted = expectedOf<Numbers[]>('tree-tot', name);
			const trees = await read('tree-tot', name);
			assert.equal(trees.length, wanted.length);
			trees.forEach(({ name: title, facts, events }, i) => {
				const numbers = wanted[i] as Numbers;
				assert.equal(title, `puzzle ${numbers.idx}`);
				assert.deepEqual([facts.nodes, facts.depth], [(numbers.nodes as number) - 1, numbers.depth]);
				assert.equal(facts.best?.value, numbers.best_value);
				assert.equal(facts.counts.final, numbers.final);
				assert.equal(facts.counts.solved ?? null, numbers.solved);
				const tree = replay(events);
				// One puzzle has one root, and the result is a final text that contains all of its steps.
				assert.deepEqual(tree.roots, [0]);
				const path = tree.outcome?.best ?? [];
				assert.equal(path.length, facts.depth + 1);
				if ((numbers.solved ?? 0) > 0) assert.equal(tree.node(path.at(-1) ?? -1)?.scores.get('correct'), 1);
			});
		}
		const [first] = await read('tree-tot', 'logs/game24/gpt-4_0.7_propose1_value3_greedy5_start900_end1000.json');
		const tree = replay(first?.events ?? []);
		const text = (tree.outcome?.best ?? []).slice(1).map((id) => tree.node(id)?.text);
		assert.deepEqual(text.slice(0, 2), ['4 * 5 = 20 (left: 6 10 20)\n', '10 - 6 = 4 (left: 4 20)\n']);
		assert.equal(tree.outcome?.answer, '(4 * 5) + (10 - 6) = 24');
	});

	it('match for Tree of Thoughts, samples without a tree', async () => {
		const name = 'logs/game24/gpt-4_0.7_naive_standard_sample_100_start900_end1000.json';
		const wanted = expectedOf<Numbers[]>('tree-tot', name);
		const trees = await read('tree-tot', name);
		assert.deepEqual(
			trees.map(({ facts }) => [facts.nodes, facts.depth, facts.counts.samples]),
			wanted.map(({ nodes, samples }) => [(nodes as number) - 1, 1, samples]),
		);
		// The tokens for a puzzle are the difference between its total and the previous total.
		const tokens = trees.map(({ events }) => events.at(-1)).map((end) => (end?.t === 'end' ? end.tokens : null));
		assert.deepEqual(tokens, [1856, 3636 - 1856]);
	});

	it('match for Tree of Thoughts, crosswords', async () => {
		const name = 'logs/crosswords/infoss_dfs_prune.json';
		const wanted = expectedOf<Numbers[]>('tree-tot', name);
		const trees = await read('tree-tot', name);
		assert.deepEqual(
			trees.map(({ facts }) => [facts.counts.visits, facts.depth, facts.best?.value]),
			wanted.map(({ visits, depth, best_r_word }) => [visits, depth, best_r_word]),
		);
		const tree = replay(trees[0]?.events ?? []);
		assert.equal(tree.nodes.length, 31);
		assert.equal(tree.nodes[3]?.pruned, '1 word could not be found');
		assert.deepEqual(
			tree
				.pathTo(3)
				.map((id) => tree.node(id)?.text)
				.slice(1),
			['h2. motor', 'h1. tasks', 'h4. salon'],
		);
	});

	for (const hash of ['dbe2d136071d73f0ae80338a00583252', '7c0e85c9ea065126ff642d60ea6e23c4']) {
		it(`match for MathBlackBox: ${hash.slice(0, 8)}`, async () => {
			const name = `gsm8k-fixture-new-mcts-8/jsons/${hash}.json`;
			const wanted = expectedOf('tree-mathblackbox', name);
			const [one] = await read('tree-mathblackbox', name);
			const tree = replay(one?.events ?? []);
			const { facts } = one ?? {};
			assert.deepEqual([facts?.nodes, facts?.depth], [wanted.nodes, wanted.max_depth]);
			assert.equal(tree.roots.length, wanted.roots);
			assert.deepEqual(
				[facts?.counts.answersListed, facts?.counts.selfLoops, facts?.counts.rewardSamples],
				[wanted.answers_listed, wanted.self_loops, wanted.reward_samples],
			);
			near(facts?.best?.value, wanted.best_mean_reward as number, 'best');
			assert.equal(
				tree.nodes.reduce((sum, { visits }) => sum + visits, 0),
				wanted.reward_samples,
			);
			near(tree.q(facts?.best?.path.at(-1) ?? -1), wanted.best_mean_reward as number, 'Q of the best');
			assert.equal(tree.start?.problem.answer, hash.startsWith('dbe2') ? '29' : '66');
		});
	}
});
