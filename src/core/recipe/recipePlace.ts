import { findNodeAtLocation, parseTree } from 'jsonc-parser';

/**
 * Returns the location of a recipe key in its text, or of the closest parent key that the text contains: offset and
 * length in UTF-16 code units. Returns null if the text is not an object.
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
		// Highlight a key together with its value, but a list entry on its own.
		const shown = node.parent?.type === 'property' ? node.parent : node;
		return { offset: shown.offset, length: shown.length, exact: depth === path.length };
	}
	return { offset: root.offset, length: 1, exact: path.length === 0 };
}
