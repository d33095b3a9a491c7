import type { Search } from '../search.ts';
import type { TreeNode } from '../searchTree.ts';

/**
 * Samples completions from where the search begins until there are n, or a multiple of n when it goes on from a log that has
 * them already.
 */
export async function sampleCompletions(
	search: Search,
	n: number,
	temperature: number | undefined,
): Promise<readonly TreeNode[]> {
	const have = (search.tree.node(search.root) as TreeNode).children.length;
	const more = n - (have % n);
	return search.generate(search.root, {
		n: more,
		unit: 'completion',
		...(temperature === undefined ? {} : { sampling: { temperature } }),
	});
}
