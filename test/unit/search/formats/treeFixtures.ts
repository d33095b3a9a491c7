import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { SearchTree } from '../../../../src/core/search/searchTree.ts';
import type { TreeEvent } from '../../../../src/protocol/treeLog.ts';
import { root } from '../../../scripts/paths.ts';

const folder = join(root, 'test/fixtures');

/** Format of each fixture folder. */
export const formatOfFolder = {
	'tree-llm-reasoners': 'llm-reasoners',
	'tree-x1': 'x1',
	'tree-openr': 'openr',
	'tree-tot': 'tree-of-thoughts',
	'tree-mathblackbox': 'mathblackbox',
} as const;
export type TreeFolder = keyof typeof formatOfFolder;

export interface TreeFixture {
	readonly folder: TreeFolder;
	/** Path relative to the folder, with slashes. */
	readonly name: string;
	readonly path: string;
}

export const treeFixtures: readonly TreeFixture[] = (Object.keys(formatOfFolder) as TreeFolder[]).flatMap((of) =>
	globSync('**/*.json', { cwd: join(folder, of) })
		.sort()
		.map((name) => ({ folder: of, name: name.replaceAll(sep, '/'), path: join(folder, of, name) })),
);

type Numbers = Readonly<Record<string, number>>;
const expected = JSON.parse(readFileSync(join(folder, 'tree-expected.json'), 'utf8')) as Record<
	TreeFolder,
	{ files: Record<string, unknown> }
>;

/** Returns the known numbers for a file. */
export function expectedOf<T = Numbers>(of: TreeFolder, name: string): T {
	const value = expected[of].files[name];
	if (value === undefined) throw new Error(`There are no known numbers for ${of}/${name}`);
	return value as T;
}

export function replay(events: readonly TreeEvent[], until = Number.POSITIVE_INFINITY): SearchTree {
	const tree = new SearchTree();
	for (const event of events) if (event.at <= until) tree.apply(event);
	return tree;
}

export const depthOf = (tree: SearchTree): number => tree.nodes.reduce((depth, node) => Math.max(depth, node.depth), 0);
