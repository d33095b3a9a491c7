import { formatCounted } from '../../../base/format.ts';
import { field, finite, isTable, listField, numberField, textField } from './foreignJson.ts';
import { type GraphEdge, inTreeOrder } from './graphOrder.ts';
import { statedIn } from './statedIn.ts';
import { TreeBuilder } from './treeBuilder.ts';
import type { ReadTree, TreeFault, TreeFormat, TreeLimits } from './treeFormat.ts';

/**
 * trotsky1997/MathBlackBox (MCT Self-Refine), `main_loop` (run_with_earlystopping.py): nodes are complete answers,
 * identified by their text. `fathers` maps an answer to the one it refines (null for a root; there are several roots).
 * `childs` is the reverse mapping, so an answer that occurred twice has several parents. `to_explore_reward` contains
 * the sampled rewards for each answer.
 */
export const mathBlackBoxFormat: TreeFormat = {
	name: 'mathblackbox',
	title: 'MathBlackBox',
	looksFor: 'MathBlackBox: an object with answers_list, fathers and to_explore_reward',
	recognize: (value) =>
		isTable(field(value, 'fathers')) &&
		isTable(field(value, 'to_explore_reward')) &&
		listField(value, 'answers_list') !== null,
	trees: (value, limits) => [readTree(value, limits)],
};

function readTree(value: unknown, limits: TreeLimits): ReadTree | TreeFault {
	const fathers = field(value, 'fathers');
	if (!isTable(fathers)) return { name: 'tree', fault: 'has no "fathers" object' };
	const gold = textField(value, 'ground_truth');
	const tree = new TreeBuilder({
		format: mathBlackBoxFormat.name,
		name: 'tree',
		strategy: 'mct-self-refine',
		prompt: textField(value, 'query') ?? '',
		answer: gold === null ? null : statedIn(gold),
		structure: 'graph',
		measure: 'mean reward',
	});
	const incoming = edgesOf(value);
	// Lists answers in file order, followed by those that occur only in `fathers`.
	const listed = (listField(value, 'answers_list') ?? []).filter((answer) => typeof answer === 'string');
	const keys = [...new Set([...listed.filter((answer) => Object.hasOwn(fathers, answer)), ...Object.keys(fathers)])];
	const { order, cut, loops } = inTreeOrder(keys, incoming);
	const ids = new Map<string, number>();
	const rewards = field(value, 'to_explore_reward');
	const [hints, bounds] = [field(value, 'hints_bank'), field(value, 'ucb_bank')];
	let samples = 0;
	for (const { key, parents } of order.slice(0, limits.nodes)) {
		const known = parents.map((parent) => ids.get(parent)).filter((id) => id !== undefined);
		const advice = listField(hints, key)?.filter((hint) => typeof hint === 'string');
		const bound = numberField(bounds, key);
		const id = tree.node({
			parents: known,
			text: key,
			role: known.length === 0 ? 'draft' : 'revision',
			final: true,
			answer: statedIn(key),
			data: { ...(advice === undefined ? {} : { hints: advice }), ...(bound === null ? {} : { ucb: bound }) },
		});
		ids.set(key, id);
		if (known.length === 0) tree.count('roots');
		const given = (listField(rewards, key) ?? []).map(finite).filter((reward) => reward !== null);
		for (const reward of given) tree.visits(id, reward, 1);
		samples += given.length;
		if (given.length > 0) tree.value(id, given.reduce((sum, reward) => sum + reward, 0) / given.length);
	}
	tree.count('answersListed', (listField(value, 'answers_list') ?? []).length);
	tree.count('rewardSamples', samples);
	tree.count('selfLoops', loops);
	if (loops > 0) tree.fault(`${formatCounted(loops, 'answer is its', 'answers are their')} own parent.`);
	if (cut > 0) tree.fault(`The tree has a cycle; ${formatCounted(cut, 'edge')} omitted.`);
	if (order.length > limits.nodes) tree.fault(`Showing the first ${limits.nodes} nodes.`);
	return tree.nodes === 0 ? { name: 'tree', fault: 'has no answers' } : tree.done();
}

/** Returns edges by child: first the edge to the parent listed in `fathers`, then the edges listed only in `childs`. */
function edgesOf(value: unknown): Map<string, GraphEdge[]> {
	const incoming = new Map<string, GraphEdge[]>();
	const add = (source: string, target: string) => {
		const list = incoming.get(target);
		if (list === undefined) incoming.set(target, [{ source, target }]);
		else list.push({ source, target });
	};
	const parents = field(value, 'fathers');
	const fathers = isTable(parents) ? parents : {};
	for (const [child, father] of Object.entries(fathers)) {
		if (typeof father === 'string') add(father, child);
	}
	// Reports a self-loop once, even if it is recorded in both objects.
	const loops = new Set<string>();
	const children = field(value, 'childs');
	for (const [father, list] of Object.entries(isTable(children) ? children : {})) {
		if (!Array.isArray(list)) continue;
		for (const child of list) {
			if (typeof child !== 'string') continue;
			if (child !== father) add(father, child);
			else if (!Object.hasOwn(fathers, child) || fathers[child] !== child) loops.add(child);
		}
	}
	for (const answer of loops) add(answer, answer);
	return incoming;
}
