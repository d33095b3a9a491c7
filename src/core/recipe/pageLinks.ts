import { type Node, parseTree } from 'jsonc-parser';
import { advantageKeys } from '../../protocol/recipeKeys/groupStages.ts';
import { ratioKeys } from '../../protocol/recipeKeys/ratioKeys.ts';
import { samplerKeys } from '../../protocol/recipeKeys/samplerKeys.ts';
import { tokenKeys } from '../../protocol/recipeKeys/tokenKeys.ts';

/** Pages about algorithm families: file names in docs, without extension, and their titles. */
export const docPages = {
	losses: 'Policy losses and advantages',
	'off-policy': 'Asynchronous and off-policy training',
	distillation: 'Distillation',
	preferences: 'Preference losses',
	curriculum: 'Curriculum',
	'no-labels': 'Training without labels',
	environments: 'Environments',
	visual: 'Training with images',
	latent: 'Latent thoughts',
	think: 'Thinking that grows',
} as const;
export type DocPage = keyof typeof docPages;

/** Pages for stage types and for the `loss_type` of their stages. */
const ofTypes: ReadonlyMap<unknown, DocPage> = new Map<unknown, DocPage>([
	['grpo', 'losses'],
	['distill', 'distillation'],
	['dpo', 'preferences'],
]);

const ofKeys: ReadonlyMap<unknown, DocPage> = new Map<unknown, DocPage>([
	...Object.keys({ ...ratioKeys, ...tokenKeys, ...advantageKeys }).map((key) => [key, 'losses'] as const),
	...Object.keys(samplerKeys).map((key) => [key, 'off-policy'] as const),
	['scale_rewards', 'losses'],
	['credit_assignment', 'environments'],
	['curriculum', 'curriculum'],
	['active', 'curriculum'],
	['latent', 'latent'],
	['proposals', 'no-labels'],
	['solution_pairs', 'no-labels'],
	['image', 'visual'],
]);

const ofRewards: ReadonlyMap<unknown, DocPage> = new Map<unknown, DocPage>([
	...['majority', 'certainty', 'self-certainty', 'self-judge', 'learnability'].map(
		(use) => [use, 'no-labels'] as const,
	),
	...['iou', 'classification'].map((use) => [use, 'visual'] as const),
]);

const ofTasks: ReadonlyMap<unknown, DocPage> = new Map<unknown, DocPage>([
	['signs', 'think'],
	['graph-path', 'latent'],
]);

/** Keys whose value has the link, and the pages of the values. */
const ofValues: ReadonlyMap<unknown, ReadonlyMap<unknown, DocPage>> = new Map([
	['type', ofTypes],
	['use', ofRewards],
	['task', ofTasks],
]);

export interface PageLink {
	/** Position of a key or value in the text, in UTF-16 code units, including its quotes. */
	readonly offset: number;
	readonly length: number;
	readonly page: DocPage;
}

/** Returns links from recipe keys and values to the pages about their algorithms. The recipe may contain errors. */
export function pageLinks(text: string): PageLink[] {
	const links: PageLink[] = [];
	const root = parseTree(text, [], { allowTrailingComma: true });
	const nodes = root === undefined ? [] : [root];
	for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
		if (node.type === 'object') links.push(...linksOf(node));
		nodes.push(...(node.children ?? []));
	}
	return links.sort((a, b) => a.offset - b.offset);
}

function linksOf({ children = [] }: Node): PageLink[] {
	const type = children.find(({ children: [key] = [] }) => key?.value === 'type')?.children?.[1]?.value;
	return children.flatMap(({ children: [key, value] = [] }) => {
		const byValue = ofValues.get(key?.value);
		const node = byValue === undefined ? key : value;
		const page =
			byValue?.get(value?.value) ?? (key?.value === 'loss_type' ? ofTypes.get(type) : ofKeys.get(key?.value));
		return node === undefined || page === undefined ? [] : [{ offset: node.offset, length: node.length, page }];
	});
}
