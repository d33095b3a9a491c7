import { findNodeAtLocation, parseTree } from 'jsonc-parser';

/**
 * Where a key of a recipe stands in its text, or, where it does not, the closest key above it that does: offset and length
 * in UTF-16 code units. null: the text is no object.
 */
export function recipePlace(
	text: string,
	path: readonly (string | number)[],
): { readonly offset: number; readonly length: number; readonly exact: boolean } | null {
	const root = parseTree(text, [], { allowTrailingComma: true, disallowComments: false });
	if (root?.type !== 'object') return null;
	for (let depth = path.length; depth > 0; depth--) {
		const node = findNodeAtLocation(root, path.slice(0, depth));
		if (node === undefined) continue;
		// A key is shown with its value; an entry of a list as it is.
		const shown = node.parent?.type === 'property' ? node.parent : node;
		return { offset: shown.offset, length: shown.length, exact: depth === path.length };
	}
	return { offset: root.offset, length: 1, exact: path.length === 0 };
}
