import { applyEdits, findNodeAtLocation, modify, type Node, parseTree } from 'jsonc-parser';
import { Failure } from '../../base/failure.ts';
import type { RecipeEdit } from '../../protocol/alert.ts';

/** An entry for a recipe's `rewards`. */
export type RewardEntry =
	| { readonly file: string; readonly name?: string; readonly weight: number }
	| { readonly use: string; readonly weight: number; readonly [option: string]: unknown };

const syntax = { allowTrailingComma: true } as const;

/**
 * Default rewards for a recipe without `rewards`. They must be written explicitly; otherwise, adding a reward would
 * replace them.
 */
const standard = [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }];

/** Replacement for a range of text. */
export interface TextChange {
	readonly offset: number;
	readonly length: number;
	readonly text: string;
}

/**
 * Returns the changes that add an entry to a recipe's `rewards`, or that update the weight if the reward is already
 * listed. Comments and everything else are preserved. Fails with `invalid` if the text is not a recipe.
 */
export function addReward(text: string, entry: RewardEntry): TextChange[] {
	const root = parseTree(text, [], syntax);
	if (root?.type !== 'object')
		throw new Failure('invalid', 'The recipe is not a JSON object.', 'Fix the recipe first.');
	const rewards = findNodeAtLocation(root, ['rewards']);
	if (rewards !== undefined && rewards.type !== 'array') {
		throw new Failure('invalid', 'The recipe\'s "rewards" key is not a list.', 'Fix the recipe first.');
	}
	if (rewards === undefined) return withRewards(text, root, [...standard, entry]);
	const same = (rewards.children ?? []).findIndex((child) => isSame(child, entry));
	if (same === -1) return insertion(text, rewards, oneLine(entry));
	return changes(modify(text, ['rewards', same, 'weight'], entry.weight, { formattingOptions: formatOf(text) }));
}

/**
 * Returns the recipe text after one edit: sets a key, appends to a list, or removes the key if there is no value.
 * Comments are preserved.
 */
export function editedRecipe(text: string, { path, value }: RecipeEdit): string {
	const root = parseTree(text, [], syntax);
	const isDefault = path[0] === 'rewards' && root?.type === 'object' && !findNodeAtLocation(root, ['rewards']);
	const written = isDefault ? changed(text, withRewards(text, root, standard)) : text;
	return changed(written, changes(modify(written, [...path], value, { formattingOptions: formatOf(written) })));
}

/** Applies changes to text. */
export function changed(text: string, edits: readonly TextChange[]): string {
	return applyEdits(
		text,
		edits.map(({ offset, length, text: content }) => ({ offset, length, content })),
	);
}

/** Returns the changes that add a list of rewards to a recipe as its last key. */
function withRewards(text: string, root: Node, entries: readonly object[]): TextChange[] {
	const last = root.children?.at(-1);
	const formattingOptions = formatOf(text);
	if (last === undefined) return changes(modify(text, ['rewards'], entries, { formattingOptions }));
	const written = entries.map(oneLine);
	if (!text.slice(root.offset, last.offset).includes('\n')) {
		return appended(text, last, ` "rewards": [${written.join(', ')}]`);
	}
	const { eol, insertSpaces, tabSize } = formattingOptions;
	const line = `${eol}${indentAt(text, last.offset)}`;
	const inner = `${line}${insertSpaces ? ' '.repeat(tabSize) : '\t'}`;
	return appended(text, last, `${line}"rewards": [${inner}${written.join(`,${inner}`)}${line}]`);
}

/**
 * Returns the changes that append an entry, matching the style of the list: on one line, or with one entry per line.
 */
function insertion(text: string, rewards: Node, written: string): TextChange[] {
	const last = rewards.children?.at(-1);
	const { eol } = formatOf(text);
	if (last === undefined) {
		const inside = text.slice(rewards.offset + 1, rewards.offset + rewards.length - 1);
		if (inside.trim() === '') return [{ offset: rewards.offset, length: rewards.length, text: `[${written}]` }];
		// Insert after comments, and never into a line comment.
		const offset = rewards.offset + 1 + inside.trimEnd().length;
		return [
			{ offset, length: 0, text: inside.includes('\n') ? `${eol}${indentAt(text, offset)}${written}` : ` ${written}` },
		];
	}
	const isOneLine = !text.slice(rewards.offset, last.offset).includes('\n');
	return appended(text, last, isOneLine ? ` ${written}` : `${eol}${indentAt(text, last.offset)}${written}`);
}

/** Matches the rest of a line after the last list entry: an optional comma and optional comments. */
const lineEnd = /^(?:[ \t]*\/\*[^\r\n]*?\*\/)?[ \t]*(,?)(?:[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/))?(?=[ \t]*\r?\n)/;

/** Returns the changes that insert text after the last list entry and any comment on its line. */
function appended(text: string, last: Node, addition: string): TextChange[] {
	const offset = last.offset + last.length;
	const behind = lineEnd.exec(text.slice(offset));
	if (behind === null || behind[0] === '') return [{ offset, length: 0, text: `,${addition}` }];
	const after = offset + behind[0].length;
	if (behind[1] === ',') return [{ offset: after, length: 0, text: `${addition},` }];
	return [
		{ offset, length: 0, text: ',' },
		{ offset: after, length: 0, text: addition },
	];
}

/** Returns the leading whitespace of the line at an offset. */
function indentAt(text: string, offset: number): string {
	return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? '';
}

function isSame(node: Node, entry: RewardEntry): boolean {
	const value = (key: string): unknown => findNodeAtLocation(node, [key])?.value;
	if ('use' in entry) return value('use') === entry.use && value('name') === undefined;
	const plain = (path: unknown) => (typeof path === 'string' ? path.replace(/^\.\//, '') : path);
	return plain(value('file')) === plain(entry.file) && value('name') === entry.name;
}

/** Formats an entry on one line: `{ "file": "a.reward.ts", "weight": 0.1 }` */
function oneLine(entry: object): string {
	const fields = Object.entries(entry).filter(([, value]) => value !== undefined);
	return `{ ${fields.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`).join(', ')} }`;
}

function formatOf(text: string): { insertSpaces: boolean; tabSize: number; eol: string } {
	const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? '\t';
	return {
		insertSpaces: !indent.includes('\t'),
		tabSize: indent.includes('\t') ? 4 : indent.length,
		eol: text.includes('\r\n') ? '\r\n' : '\n',
	};
}

function changes(edits: ReturnType<typeof modify>): TextChange[] {
	return edits.map(({ offset, length, content }) => ({ offset, length, text: content }));
}
