import { findNodeAtLocation, modify, parseTree } from 'jsonc-parser';
import type { RecipeChange } from './recipeFix.ts';

/** A text replacement; offsets are in UTF-16 code units. */
export interface TextEdit {
	readonly offset: number;
	readonly length: number;
	readonly content: string;
}

/**
 * Returns the edits that apply a change to a recipe's text and preserve its comments. Returns an empty list if the text
 * no longer contains the path.
 */
export function fixEdits(text: string, change: RecipeChange): TextEdit[] {
	const root = parseTree(text, [], { allowTrailingComma: true });
	if (root === undefined) return [];
	const path = [...change.path];
	if (change.kind === 'rename') {
		const key = findNodeAtLocation(root, path)?.parent?.children?.[0];
		return key === undefined ? [] : [{ offset: key.offset, length: key.length, content: JSON.stringify(change.key) }];
	}
	if (change.kind === 'remove' && findNodeAtLocation(root, path) === undefined) return [];
	const parent = path.length === 1 ? root : findNodeAtLocation(root, path.slice(0, -1));
	if (parent === undefined) return [];
	return modify(text, path, change.kind === 'remove' ? undefined : change.value, {
		formattingOptions: indentationOf(text),
	});
}

function indentationOf(text: string): {
	readonly insertSpaces: boolean;
	readonly tabSize: number;
	readonly eol: string;
} {
	const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '\t';
	return {
		insertSpaces: indent.startsWith(' '),
		tabSize: indent.startsWith(' ') ? indent.length : 4,
		eol: text.includes('\r\n') ? '\r\n' : '\n',
	};
}
