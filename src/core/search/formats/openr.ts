import { formatCounted } from '../../../base/format.ts';
import { countField, field, isTable, numberField, textField } from './foreignJson.ts';
import { statedIn } from './statedIn.ts';
import { TreeBuilder } from './treeBuilder.ts';
import type { ReadTree, TreeFormat, TreeLimits } from './treeFormat.ts';

/**
 * openreasoner/openr, `LanguageNode.to_json` (reason/guided_search/tree.py): `children` is an object keyed by action
 * text; everything else is in `info`. The value of a node without visits is its initial value.
 */
export const openrFormat: TreeFormat = {
	name: 'openr',
	title: 'OpenR',
	looksFor: 'OpenR: an object with a children object and an info object that has visit_cnt and prior_p',
	recognize(value) {
		const info = field(value, 'info');
		return isTable(field(value, 'children')) && isTable(info) && 'visit_cnt' in info && 'prior_p' in info;
	},
	trees: (value, limits) => [readTree(value, limits)],
};

function readTree(root: unknown, limits: TreeLimits): ReadTree {
	const prompt = textField(field(root, 'info'), 'text_state') ?? '';
	const searched = countField(field(root, 'info'), 'visit_cnt') !== null;
	const tree = new TreeBuilder({
		format: openrFormat.name,
		name: 'tree',
		strategy: searched ? 'mcts' : 'beam',
		prompt,
		measure: 'value',
	});
	const open: { readonly action: string; readonly value: unknown; readonly parent: number | null }[] = [
		{ action: '', value: root, parent: null },
	];
	let left = 0;
	let broken = 0;
	for (let next = open.pop(); next !== undefined; next = open.pop()) {
		const { action, value, parent } = next;
		const info = field(value, 'info');
		if (!isTable(info)) {
			broken++;
			continue;
		}
		if (tree.nodes >= limits.nodes) {
			left++;
			continue;
		}
		const text = parent === null ? prompt : (textField(info, 'last_action') ?? action);
		const final = field(info, 'terminated') === true;
		const initial = numberField(info, 'initial_value');
		const id = tree.node({
			parents: parent === null ? [] : [parent],
			text,
			final,
			answer: final ? statedIn(text) : null,
			prior: parent === null ? null : numberField(info, 'prior_p'),
		});
		if (final) tree.count('terminated');
		const process = numberField(info, 'prm_value');
		const own = numberField(info, 'value');
		const visits = countField(info, 'visit_cnt');
		if (parent === null) tree.count('rootVisits', visits ?? 0);
		if (visits !== null) tree.count('visited');
		if (process !== null) tree.score(id, 'prm_value', process);
		if (initial !== null && parent !== null) tree.score(id, 'initial_value', initial);
		if (own !== null && parent !== null) tree.value(id, own);
		if (own !== null && visits !== null) tree.visits(id, own, visits);
		const children = field(value, 'children');
		const actions = isTable(children) ? Object.entries(children) : [];
		for (const [key, child] of actions.reverse()) open.push({ action: key, value: child, parent: id });
	}
	if (broken > 0)
		tree.fault(`${formatCounted(broken, 'entry in "children" is not a node', 'entries in "children" are not nodes')}.`);
	if (left > 0) tree.fault(`Showing the first ${limits.nodes} nodes.`);
	return tree.done();
}
