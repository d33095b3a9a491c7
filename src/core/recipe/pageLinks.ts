import { type Node, parseTree } from 'jsonc-parser';

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
} as const;
export type DocPage = keyof typeof docPages;

/** Pages for stage types and for the `loss_type` of their stages. */
const ofTypes: ReadonlyMap<unknown, DocPage> = new Map<unknown, DocPage>([
	['grpo', 'losses'],
	['distill', 'distillation'],
	['dpo', 'preferences'],
]);

const ofKeys: ReadonlyMap<unknown, DocPage> = new Map<unknown, DocPage>([
	['importance_sampling_level', 'losses'],
	['advantage_estimator', 'losses'],
	['multi_objective_aggregation', 'losses'],
	['top_entropy_quantile', 'losses'],
	['clip_cov_ratio', 'losses'],
	['kl_cov_ratio', 'losses'],
	['use_adaptive_entropy', 'losses'],
	['world_model_coeff', 'losses'],
	['max_staleness', 'off-policy'],
	['vllm_importance_sampling_correction', 'off-policy'],
	['vllm_importance_sampling_mode', 'off-policy'],
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
		const [node, page] =
			key?.value === 'type'
				? [value, ofTypes.get(type)]
				: key?.value === 'use'
					? [value, ofRewards.get(value?.value)]
					: [key, key?.value === 'loss_type' ? ofTypes.get(type) : ofKeys.get(key?.value)];
		return node === undefined || page === undefined ? [] : [{ offset: node.offset, length: node.length, page }];
	});
}
