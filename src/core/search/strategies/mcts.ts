import * as v from 'valibot';
import { choice, count, real } from '../../../protocol/recipeKeys/recipeFields.ts';
import { backups } from '../../../protocol/treeLog.ts';
import { bestFinal, chooser, distinctFinals, finalValue, judgeFinals, votedFinal } from '../choice.ts';
import { dirichlet } from '../dirichlet.ts';
import type { Search } from '../search.ts';
import { aside, isOpen, mergeAlike } from '../siblings.ts';
import type { Conclusion, Strategy } from '../strategy.ts';
import type { TreeNode } from '../treeNode.ts';
import { maxDepth, maxSimulations, maxWidth } from './limits.ts';
import { puct, uct } from './puct.ts';
import { stepUnit } from './stepUnit.ts';
import { TreePolicy } from './treePolicy.ts';

const params = v.strictObject({
	simulations: v.optional(
		count('Number of simulations (selection, expansion, evaluation and backup)', 1, maxSimulations),
		64,
	),
	expansions: v.optional(count('Next steps sampled when a leaf is expanded', 1, maxWidth), 4),
	selection: v.optional(choice(['puct', 'uct'], 'Selection rule; PUCT uses the policy priors'), 'puct'),
	c: v.optional(real('UCT exploration constant', 0), Math.SQRT2),
	c1: v.optional(real('PUCT exploration constant', 0), 1.25),
	c2: v.optional(real('PUCT: number of visits after which exploration increases', 1), 19652),
	firstPlay: v.optional(real('PUCT: value of an unvisited step', -1e6), 0),
	evaluation: v.optional(
		choice(
			['auto', 'value', 'rollout'],
			'Whether the guide evaluates a leaf or the judge evaluates completions sampled from it; auto uses the guide if it scores steps',
		),
		'auto',
	),
	rollouts: v.optional(count('Completions sampled per leaf; their values are averaged', 1, maxWidth), 1),
	backup: v.optional(choice(backups, 'Node value: mean or max of its backed-up values'), 'mean'),
	discount: v.optional(real('Discount per backup step', 0, 1), 1),
	depth: v.optional(count('Max number of steps; the last step completes the solution', 1, maxDepth), 40),
	noiseShare: v.optional(real("Fraction of Dirichlet noise in the priors of the root's children", 0, 1), 0),
	noiseAlpha: v.optional(real('Concentration parameter of the Dirichlet noise', 0.001), 0.3),
	virtualLoss: v.optional(
		real('Number of zero-value visits counted for each simulation in progress (virtual loss)', 0),
		1,
	),
	target: v.optional(real('Stop when a completion reaches this value', -1e9)),
	choose: v.optional(
		choice(
			['visits', 'value', 'vote'],
			'Select the most visited path, the highest-scoring completion, or the answer with the highest sum of values',
		),
		'visits',
	),
});
type Params = v.InferOutput<typeof params>;

/** Monte Carlo tree search over steps: UCT (Kocsis and Szepesvári 2006) or PUCT (Silver et al. 2017). */
export const mcts: Strategy<Params> = {
	name: 'mcts',
	title: 'Monte Carlo Tree Search',
	description: 'Runs simulations that balance value and exploration, and backs up their results.',
	source: 'Silver et al. 2017; Besta et al. 2025; Kocsis and Szepesvári 2006 (UCT)',
	structure: 'tree',
	params,
	needs: { policy: ['prefix'] },
	needsWith: ({ evaluation }) => ({ scorer: evaluation === 'value' ? 'step' : 'final' }),
	async run(search, given) {
		const { evaluation } = given;
		const byGuide = evaluation === 'auto' ? search.guide?.scope === 'step' : evaluation === 'value';
		const p = { ...given, evaluation: byGuide ? ('value' as const) : ('rollout' as const) };
		const root = search.tree.node(search.root) as TreeNode;
		const policy = treePolicyOf(search, p);
		const expanding = new Map<number, Promise<void>>();
		const done = root.visits % p.simulations;
		let left = search.isCut && done === 0 && root.visits > 0 ? 0 : p.simulations - done;
		let solved = false;
		const simulate = async () => {
			while (left > 0 && !solved && isOpen(root, search.tree)) {
				// Yields even if all values are cached; otherwise nothing else could run.
				const breath = search.breathe();
				if (breath !== null) await breath;
				if (left <= 0) break;
				left--;
				search.simulation();
				const path: number[] = [];
				try {
					let leaf = selectLeaf(search, policy, root, path);
					while (!leaf.final && (leaf === root || policy.visits(leaf) > 0)) {
						await expandOnce(search, p, expanding, leaf);
						if (policy.best(leaf) === null) break;
						path.pop();
						policy.leave([leaf.id]);
						leaf = selectLeaf(search, policy, leaf, path);
					}
					const known = knownValue(search, p, leaf);
					const value = known ?? (await evaluate(search, p, leaf));
					search.backup(path.slice(), discounted(value, path.length, p.discount));
					solved ||= leaf.final && p.target !== undefined && value >= p.target;
				} finally {
					policy.leave(path);
				}
			}
		};
		await search.parallel(Array.from({ length: search.concurrency }), simulate);
		return { stop: solved ? 'solved' : isOpen(root, search.tree) ? 'complete' : 'exhausted' };
	},
	async conclude(search, { choose }) {
		const finals = await judgeFinals(search, distinctFinals(search));
		if (choose === 'vote') return votedFinal(search, finals, true);
		return choose === 'value' ? bestFinal(search, finals) : mostVisited(search, finals);
	},
};

/** Uses the tree policy to descend from a node to one without open children, appending the path to `path`. */
function selectLeaf(search: Search, policy: TreePolicy, from: TreeNode, path: number[]): TreeNode {
	let [parent, node]: [TreeNode | null, TreeNode] = [null, from];
	for (let next: TreeNode | null = from; next !== null; next = policy.best(node)) {
		if (next !== from) parent = node;
		node = next;
		path.push(node.id);
		policy.enter(node.id);
	}
	if (parent !== null) search.select(node.id, policy.candidates(parent));
	return node;
}

/** Ensures that concurrent simulations expand a leaf only once. */
function expandOnce(search: Search, p: Params, expanding: Map<number, Promise<void>>, { id }: TreeNode): Promise<void> {
	let expansion = expanding.get(id);
	if (expansion === undefined) {
		expansion = expand(search, search.tree.node(id) as TreeNode, p).finally(() => expanding.delete(id));
		expanding.set(id, expansion);
	}
	return expansion;
}

async function expand(search: Search, node: TreeNode, { expansions, depth }: Params): Promise<void> {
	const children = await search.generate(node.id, { n: expansions, unit: stepUnit(search, node, depth) });
	mergeAlike(search, children);
}

/** Returns the cached value of a leaf; null if it must be evaluated. */
function knownValue(search: Search, { evaluation }: Params, leaf: TreeNode): number | null {
	if (!leaf.final && evaluation === 'rollout') return null;
	const scorer = leaf.final ? chooser(search) : search.guide;
	// A recorded null is also a known value.
	return scorer !== null && leaf.scores.has(scorer.name) ? (leaf.scores.get(scorer.name) ?? 0) : null;
}

/**
 * Evaluates a leaf: with the judge if it is final, otherwise with the guide or by sampling completions. Returns 0 if
 * there is no value.
 */
async function evaluate(search: Search, { evaluation, rollouts }: Params, leaf: TreeNode): Promise<number> {
	if (leaf.final || evaluation === 'value') return (await search.evaluate([leaf.id]))[0] ?? 0;
	const ends = await search.generate(leaf.id, { n: rollouts, unit: 'completion', label: aside.rollout });
	const values = await search.evaluate(ends.filter(({ final }) => final).map(({ id }) => id));
	return values.length === 0 ? 0 : values.reduce<number>((sum, value) => sum + (value ?? 0), 0) / values.length;
}

/** Returns a value for each node on a path, root first, discounted once per step toward the root. */
function discounted(value: number, length: number, discount: number): number[] {
	const values = new Array<number>(length);
	for (let i = length - 1; i >= 0; i--) {
		values[i] = value;
		value *= discount;
	}
	return values;
}

/** Descends from the root to the most visited child, breaking ties by Q, as long as there are completions below. */
function mostVisited(search: Search, finals: readonly TreeNode[]): Conclusion {
	const { tree, root } = search;
	const ends = new Set(finals.flatMap(({ id }) => tree.pathTo(id)));
	let node = tree.node(root) as TreeNode;
	for (;;) {
		const children = node.children.map((id) => tree.node(id) as TreeNode);
		const open = children.filter((child) => isOpen(child, tree) && (ends.size === 0 || ends.has(child.id)));
		if (open.length === 0) break;
		node = open.reduce((a, b) => {
			if (b.visits !== a.visits) return b.visits > a.visits ? b : a;
			return (tree.q(b.id) ?? 0) > (tree.q(a.id) ?? 0) ? b : a;
		});
	}
	if (node.final) return { best: node.id, answer: node.answer, value: finalValue(search, node) };
	// Only completions sampled to evaluate the leaf remain, or nothing is final yet.
	const below = finals.filter(({ id }) => tree.pathTo(id).includes(node.id));
	return below.length > 0
		? bestFinal(search, below)
		: { best: node.id === 0 ? null : node.id, answer: null, value: tree.q(node.id) };
}

function treePolicyOf(search: Search, p: Params): TreePolicy {
	const random = search.random('dirichlet', search.root);
	return new TreePolicy(search, {
		rule: p.selection === 'uct' ? uct(p.c) : puct(p.c1, p.c2),
		firstPlay: p.firstPlay,
		virtualLoss: p.virtualLoss,
		noise: p.noiseShare === 0 ? null : { share: p.noiseShare, of: (n) => dirichlet(random, n, p.noiseAlpha) },
	});
}
