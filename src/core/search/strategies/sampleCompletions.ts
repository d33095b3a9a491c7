import type { Search } from '../search.ts';
import { openLeaves } from '../siblings.ts';
import type { TreeNode } from '../treeNode.ts';

/**
 * Samples completions from the start of the search until there are n. If a continued log already has n, samples up to
 * the next multiple of n. Completions interrupted by a budget are finished first.
 */
export async function sampleCompletions(search: Search, n: number, temperature: number | undefined): Promise<void> {
	const { tree, root } = search;
	const options = { unit: 'completion', ...(temperature === undefined ? {} : { sampling: { temperature } }) } as const;
	const cut = openLeaves(search).filter(({ id, final }) => id !== root && !final);
	if (search.policy.capabilities.prefix) await search.parallel(cut, ({ id }) => search.generate(id, options));
	const have = (tree.node(root) as TreeNode).children.length;
	if (have > 0 && have % n === 0 && (cut.length > 0 || search.isCut)) return;
	await search.generate(root, { ...options, n: n - (have % n) });
}
