import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import type { SearchOptions } from '../../../../../src/core/search/searchRun.ts';
import type { SearchTree } from '../../../../../src/core/search/searchTree.ts';
import type { TreeNode } from '../../../../../src/core/search/treeNode.ts';
import type { TreeEvent } from '../../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../../support/runSearch.ts';
import {
	type Game,
	gamePolicy,
	placeOf,
	type ReferenceNode,
	randomGame,
	referenceMcts,
	referencePath,
} from '../mctsReference.ts';
import { FunctionPolicy, FunctionScorer, generation, problem, ticking } from '../scripted.ts';

const close = (a: number, b: number, what: string) => assert.ok(Math.abs(a - b) < 1e-9, `${what}: ${a}, ${b}`);

const play = (game: Game, params: Record<string, unknown>, more: Partial<SearchOptions> = {}) =>
	runSearch({
		strategy: 'mcts',
		params: { expansions: 4, ...params },
		problem,
		policy: gamePolicy(game),
		guide: new FunctionScorer(({ completion }) => placeOf(game, completion).value),
		tags: { think: null, answer: null },
		concurrency: 1,
		now: ticking(),
		...more,
	});

/**
 * Compares visits, Q and children of both trees node by node. The search merges children that repeat an earlier one,
 * so merged nodes are skipped.
 */
function assertSame(tree: SearchTree, reference: ReferenceNode): number {
	let compared = 0;
	const compare = (node: TreeNode, other: ReferenceNode, path: string): void => {
		compared++;
		assert.equal(node.visits, other.n, `visits of ${path}`);
		if (other.n > 0)
			close(tree.q(node.id) as number, tree.backup === 'max' ? other.max : other.w / other.n, `Q of ${path}`);
		const children = node.children.map((id) => tree.node(id) as TreeNode).filter((child) => child.mergedInto === null);
		assert.deepEqual(
			children.map(({ text }) => text.trim()),
			other.children.map(({ game }) => game.text),
			`children of ${path}`,
		);
		for (const [i, child] of children.entries()) {
			close(child.prior as number, (other.children[i] as ReferenceNode).prior, `prior of ${path}`);
			compare(child, other.children[i] as ReferenceNode, `${path} / ${child.text.trim()}`);
		}
	};
	compare(tree.node(0) as TreeNode, reference, 'root');
	return compared;
}

const rules = {
	uct: (c: number) => (parent: ReferenceNode, child: ReferenceNode, q: number) =>
		child.n === 0 ? 1e9 : q + c * Math.sqrt(Math.log(Math.max(1, parent.n)) / child.n),
	puct: (parent: ReferenceNode, child: ReferenceNode, q: number) =>
		q +
		child.prior *
			(Math.sqrt(Math.max(1, parent.n)) / (1 + child.n)) *
			(1.25 + Math.log((Math.max(1, parent.n) + 19653) / 19652)),
};

test('visits, Q and the best path match a simple implementation on 20 random trees, for UCT and PUCT', async () => {
	let compared = 0;
	for (let seed = 0; seed < 20; seed++) {
		const game = randomGame(seed);
		for (const selection of ['puct', 'uct'] as const) {
			const [backup, discount] = [seed % 3 === 2 ? 'max' : 'mean', seed % 2 === 1 ? 0.9 : 1] as const;
			const simulations = 40 + 20 * seed;
			const { tree, outcome, totals } = await play(game, { simulations, selection, c: 0.8, backup, discount });
			const score = selection === 'uct' ? rules.uct(0.8) : rules.puct;
			const reference = referenceMcts(game, { simulations, backup, discount, score });
			compared += assertSame(tree, reference);
			assert.deepEqual(
				outcome.best?.slice(1).map((id) => tree.node(id)?.text.trim()),
				referencePath(reference, backup),
				`best path of ${seed}`,
			);
			assert.equal(outcome.stop, 'complete');
			assert.equal(totals.simulations, simulations);
		}
	}
	assert.ok(compared > 1000, `${compared} nodes`);
});

test('UCT converges to the optimal arm of a bandit with random rewards', async () => {
	const means = [0.2, 0.5, 0.8, 0.4];
	// The four first steps have nothing below them, so every further visit is a rollout: another pull of the arm.
	const policy = new FunctionPolicy((request, i) => {
		if (request.prefix === '') return generation(`arm ${i}`, { finish: 'stop', stopText: '\n' });
		return request.stop.length > 0 ? [] : generation('pull');
	});
	const shares: number[] = [];
	for (const simulations of [50, 400, 2000]) {
		const random = Random.of('bandit', simulations);
		const judge = new FunctionScorer(({ completion }) => {
			const arm = Number(/arm (\d)/.exec(completion)?.[1]);
			return random.next() < (means[arm] as number) ? 1 : 0;
		}, 'final');
		const { tree } = await runSearch({
			strategy: 'mcts',
			params: { simulations, selection: 'uct', evaluation: 'rollout' },
			problem,
			policy,
			judge,
			concurrency: 1,
			now: ticking(),
			tags: { think: null, answer: null },
		});
		const visits = (tree.node(0) as TreeNode).children.map((id) => (tree.node(id) as TreeNode).visits);
		assert.equal(visits.indexOf(Math.max(...visits)), 2, `${simulations}: ${visits}`);
		assert.equal(
			visits.reduce((a, b) => a + b),
			simulations,
		);
		shares.push((visits[2] as number) / simulations);
	}
	assert.ok((shares[0] as number) < (shares[2] as number), `${shares}`);
	assert.ok((shares[2] as number) > 0.85, `${shares}`);
});

test("with max backup, a node's Q is the maximum, not the mean", async () => {
	const game = randomGame(3);
	const { tree } = await play(game, { simulations: 200, backup: 'max' });
	const best = Math.max(
		...tree.nodes
			.filter(({ visits }) => visits > 0)
			.slice(1)
			.map((node) => placeOf(game, tree.textOf(node.id)).value),
	);
	assert.equal(tree.q(0), best);
});

test('many concurrent simulations, spread by virtual loss, count every visit and expand each step once', async () => {
	const game = randomGame(7);
	const { tree, totals } = await play(game, { simulations: 300 }, { concurrency: 16 });
	assert.equal(totals.simulations, 300);
	assert.equal(tree.node(0)?.visits, 300);
	for (const node of tree.nodes) {
		const below = node.children.reduce((sum, id) => sum + (tree.node(id) as TreeNode).visits, 0);
		assert.ok(below <= node.visits, `node ${node.id}: ${below} visits below ${node.visits}`);
		const texts = node.children.map((id) => tree.node(id) as TreeNode).filter(({ mergedInto }) => mergedInto === null);
		assert.equal(new Set(texts.map(({ text }) => text)).size, texts.length, 'expanded once');
	}
});

test('Dirichlet noise changes the selection priors and depends only on the seed', async () => {
	const visits = async (seed: number, noiseShare: number) => {
		const { tree } = await play(randomGame(5), { simulations: 60, noiseShare, noiseAlpha: 0.3 }, { seed });
		return tree.nodes.map((node) => node.visits);
	};
	assert.deepEqual(await visits(1, 0.5), await visits(1, 0.5));
	assert.notDeepEqual(await visits(1, 0.5), await visits(2, 0.5));
	assert.deepEqual(await visits(1, 0), await visits(2, 0));
});

test('the search stops at a completion with the target value, and does not continue below pruned nodes', async () => {
	const game = randomGame(2);
	const solved = await play(game, { simulations: 1000, target: 0.6 });
	assert.equal(solved.outcome.stop, 'solved');
	assert.ok(solved.totals.simulations < 1000);

	const events: TreeEvent[] = [];
	const first = await play(game, { simulations: 30 }, { onEvent: (event) => events.push(event) });
	const [victim] = (first.tree.node(0) as TreeNode).children as [number];
	const before = first.tree.node(victim)?.visits;
	events.push({ t: 'prune', at: 1, id: victim, reason: 'a person' });
	const next = await play(game, { simulations: 30 }, { resume: { events, action: 'more' } });
	assert.equal(next.tree.node(victim)?.visits, before);
	assert.equal(next.tree.node(0)?.visits, 60);
	assert.ok(!next.outcome.best?.includes(victim));
});

test('branching restricts the search to a subtree, whose root receives the new visits', async () => {
	const game = randomGame(2);
	const events: TreeEvent[] = [];
	const first = await play(game, { simulations: 30 }, { onEvent: (event) => events.push(event) });
	const node = first.tree.nodes.find(
		({ depth, final, children }) => depth === 1 && !final && children.length > 0,
	) as TreeNode;
	const before = first.tree.nodes.map(({ visits }) => visits);
	const { tree, outcome } = await play(
		game,
		{ simulations: 50 },
		{ resume: { events, action: 'branch', node: node.id } },
	);
	assert.equal(tree.node(node.id)?.visits, 50);
	const inside = (id: number) => tree.pathTo(id).includes(node.id);
	for (const [id, visits] of before.entries())
		if (!inside(id)) assert.equal(tree.node(id)?.visits, visits, `node ${id}`);
	for (const { id } of tree.nodes.slice(before.length)) assert.ok(inside(id));
	assert.deepEqual(outcome.best?.slice(0, 2), [0, node.id]);
});
