import { formatCounted } from '../../../base/format.ts';
import { countField, field, isTable, listField, numberField, pick, shallow, textField } from './foreignJson.ts';
import { statedIn } from './statedIn.ts';
import { TreeBuilder } from './treeBuilder.ts';
import type { ReadTree, TreeFormat, TreeLimits } from './treeFormat.ts';

/**
 * spcl/x1, `Node.save_to_json` (x1/strategy/mcts.py): nested `children`, N and Q at each node, settings at the root
 * node.
 */
export const x1Format: TreeFormat = {
	name: 'x1',
	title: 'x1',
	looksFor: 'x1: an object with reasoning_step, visit_count, q_value and a list of children',
	recognize: (value) =>
		textField(value, 'reasoning_step') !== null &&
		listField(value, 'children') !== null &&
		field(value, 'visit_count') !== undefined &&
		field(value, 'q_value') !== undefined,
	trees: (value, limits) => [readTree(value, limits)],
};

function readTree(root: unknown, limits: TreeLimits): ReadTree {
	const args = field(root, 'args');
	const prompt = textField(root, 'reasoning_step') ?? textField(args, 'question') ?? '';
	const tree = new TreeBuilder({
		format: x1Format.name,
		name: textField(root, 'id') ?? 'tree',
		strategy: 'mcts',
		prompt,
		answer: textField(args, 'gt_solution'),
		params: isTable(args) ? (shallow(args) as Record<string, unknown>) : {},
		measure: 'q_value',
	});
	// Uses an explicit stack, because nesting depth is unbounded.
	const open: { readonly value: unknown; readonly parent: number | null }[] = [{ value: root, parent: null }];
	let left = 0;
	let broken = 0;
	for (let next = open.pop(); next !== undefined; next = open.pop()) {
		const { value, parent } = next;
		const text = textField(value, 'reasoning_step');
		if (text === null) {
			broken++;
			continue;
		}
		if (tree.nodes >= limits.nodes) {
			left++;
			continue;
		}
		const final = field(value, 'is_terminal') === true;
		const id = tree.node({
			parents: parent === null ? [] : [parent],
			text: parent === null ? prompt : text,
			final,
			answer: final ? statedIn(text) : null,
			data: pick(value, ['id', 'leads_to_terminal', 'num_simulations', 'simulation_value', 'simulations', 'alpha']),
		});
		if (final) tree.count('terminal');
		const predicted = numberField(value, 'q_value_model');
		const reward = numberField(value, 'reward');
		if (predicted !== null && !final && parent !== null) tree.score(id, 'q_value_model', predicted);
		if (reward !== null && final) tree.score(id, 'reward', reward);
		const q = numberField(value, 'q_value');
		const visits = countField(value, 'visit_count');
		if (parent === null) tree.count('rootVisits', visits ?? 0);
		if (q !== null) {
			tree.value(id, q);
			if (visits !== null) tree.visits(id, q, visits);
			else tree.score(id, 'q_value', q);
		}
		const children = listField(value, 'children') ?? [];
		for (let i = children.length - 1; i >= 0; i--) open.push({ value: children[i], parent: id });
	}
	if (broken > 0)
		tree.fault(`${formatCounted(broken, 'entry in "children" is not a node', 'entries in "children" are not nodes')}.`);
	if (left > 0) tree.fault(`Showing the first ${limits.nodes} nodes.`);
	return tree.done();
}
