import type { IDisposable } from '../../base/disposable.ts';
import type { SearchTree } from '../../core/search/searchTree.ts';
import type { TreeNode } from '../../core/search/treeNode.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import type { ComparedProblem } from '../../protocol/strategyComparison.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import type { OpenEpisodes } from '../episodes/openEpisodes.ts';
import type { ProblemFault } from '../problemSet.ts';

/** Returns whether a node's completion is correct; null if unknown. No node means that the search found no result. */
export type Judge = (problem: SearchProblem, tree: SearchTree, node: TreeNode | undefined) => 0 | 1 | null;

/** The problems of a comparison, and how results are judged. The owner must dispose of them. */
export interface ComparedProblems extends IDisposable {
	/** The environment in which they are played; null if they are questions. */
	readonly environment: { readonly name: string; readonly episodes: OpenEpisodes } | null;
	/** Fails with `invalid` if there are none. @param onFault called for each skipped problem */
	read(onFault: (fault: ProblemFault) => void): Promise<ComparedProblem[]>;
	/** @param tags tags in completions @param folder comparison folder */
	judge(tags: TraceTags, folder: string): Promise<Judge>;
}
