import { findNodeAtLocation, getLocation, getNodeValue, type JSONPath, type Node, parseTree } from 'jsonc-parser';
import { ownLossKeys } from '../../protocol/recipe/groupStages.ts';
import { samplerKeys } from '../../protocol/recipe/samplerKeys.ts';

/** Pages about families of algorithms: file names in docs, without extension, and their titles. */
export const docPages = {
	losses: 'Policy losses and advantages',
	'off-policy': 'Asynchronous and off-policy training',
	distillation: 'Distillation',
	preferences: 'Preference losses',
	curriculum: 'Curriculum',
	'no-labels': 'Training without labels',
	environments: 'Environments',
} as const;
export type DocPage = keyof typeof docPages;

const lossKeys: readonly string[] = ['loss_type', 'epsilon', 'epsilon_high', 'scale_rewards', ...ownLossKeys];

/** Pages of keys by the type of their stage. `type` is its value. */
const ofStages: Readonly<Record<string, readonly (readonly [page: DocPage, keys: readonly string[]])[]>> = {
	grpo: [
		['off-policy', Object.keys(samplerKeys)],
		['curriculum', ['curriculum']],
		['no-labels', ['proposals']],
		['environments', ['credit_assignment']],
		['losses', ['type', ...lossKeys]],
	],
	rloo: [
		['curriculum', ['curriculum']],
		['no-labels', ['proposals']],
	],
	distill: [
		[
			'distillation',
			['type', 'method', 'teacher', 'on_policy', 'alpha', 'beta', 'privileged_context', 'teacher_model_kind'],
		],
	],
	dpo: [['preferences', ['type', 'loss_type', 'beta']]],
	'process-reward-model': [['curriculum', ['active']]],
	'rejection-sampling': [['no-labels', ['solution_pairs']]],
};

/** Rewards without labels. */
const unlabeled: readonly unknown[] = ['majority', 'certainty', 'self-certainty', 'self-judge', 'learnability'];

/**
 * Returns the page about the key or value at an offset of a recipe's text, or about a key that contains it. Returns null
 * if there is none.
 */
export function docPageAt(text: string, offset: number): DocPage | null {
	const { path } = getLocation(text, offset);
	const root = parseTree(text, [], { allowTrailingComma: true });
	if (root === undefined) return null;
	for (let depth = path.length; depth > 0; depth--) {
		const page = pageOf(root, path.slice(0, depth));
		if (page !== null) return page;
	}
	return null;
}

function pageOf(root: Node, path: JSONPath): DocPage | null {
	const key = path.at(-1);
	const sibling = (name: string): unknown => {
		const node = findNodeAtLocation(root, [...path.slice(0, -1), name]);
		return node === undefined ? undefined : getNodeValue(node);
	};
	if (key === 'use' && unlabeled.includes(sibling('use'))) return 'no-labels';
	if ((key === 'judged' || key === 'proposed') && sibling('task') !== undefined) return 'no-labels';
	const type = sibling('type');
	if (typeof key !== 'string' || typeof type !== 'string' || !Object.hasOwn(ofStages, type)) return null;
	return ofStages[type]?.find(([, keys]) => keys.includes(key))?.[0] ?? null;
}
