import { applyEdits, findNodeAtLocation, modify, type Node, parseTree } from 'jsonc-parser';
import { Failure } from '../../base/failure.ts';
import type { RecipeEdit } from '../../protocol/alert.ts';

/** What is added to a recipe's `rewards`. */
export type RewardEntry =
	| { readonly file: string; readonly name?: string; readonly weight: number }
	| { readonly use: string; readonly weight: number; readonly [option: string]: unknown };

const syntax = { allowTrailingComma: true } as const;

/** Rewards that a recipe without `rewards` has: they have to be written out, or adding one would take them away. */
const standard = [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }];

/** What replaces a part of a text. */
export interface TextChange {
	readonly offset: number;
	readonly length: number;
	readonly text: string;
}

/**
 * The changes that add an entry to a recipe's `rewards`, or give an entry of the same reward the new weight; comments and
 * all else stay as they are. Fails with `invalid` when the text is no recipe.
 */
export function addReward(text: string, entry: RewardEntry): TextChange[] {
	const root = parseTree(text, [], syntax);
	if (root?.type !== 'object') throw new Failure('invalid', 'The recipe is not a JSON object.', 'Correct it first.');
	const rewards = findNodeAtLocation(root, ['rewards']);
	if (rewards !== undefined && rewards.type !== 'array') {
		throw new Failure('invalid', 'The recipe\'s "rewards" is not a list.', 'Correct it first.');
	}
	const formattingOptions = formatOf(text);
	const options = { formattingOptions };
	if (rewards === undefined) return changes(modify(text, ['rewards'], [...standard, entry], options));
	const same = (rewards.children ?? []).findIndex((child) => isSame(child, entry));
	if (same !== -1) return changes(modify(text, ['rewards', same, 'weight'], entry.weight, options));
	return [insertion(text, rewards, entry)];
}

/** The text after one key was set, appended to its list or, without a value, removed; comments stay. */
export function editedRecipe(text: string, { path, value }: RecipeEdit): string {
	const root = parseTree(text, [], syntax);
	const options = { formattingOptions: formatOf(text) };
	const isDefault = path[0] === 'rewards' && root !== undefined && findNodeAtLocation(root, ['rewards']) === undefined;
	const written = isDefault ? changed(text, changes(modify(text, ['rewards'], standard, options))) : text;
	return changed(written, changes(modify(written, [...path], value, { formattingOptions: formatOf(written) })));
}

/** The text after the changes. */
export function changed(text: string, edits: readonly TextChange[]): string {
	return applyEdits(
		text,
		edits.map(({ offset, length, text: content }) => ({ offset, length, content })),
	);
}

/** A new last entry, written as the list is: on one line, or one entry a line. */
function insertion(text: string, rewards: Node, entry: RewardEntry): TextChange {
	const written = oneLine(entry);
	const last = rewards.children?.at(-1);
	if (last === undefined) return { offset: rewards.offset, length: rewards.length, text: `[${written}]` };
	const end = last.offset + last.length;
	const before = text.slice(rewards.offset, last.offset);
	if (!before.includes('\n')) return { offset: end, length: 0, text: `, ${written}` };
	const indent = /[ \t]*$/.exec(text.slice(0, last.offset))?.[0] ?? '\t';
	return { offset: end, length: 0, text: `,\n${indent}${written}` };
}

function isSame(node: Node, entry: RewardEntry): boolean {
	const value = (key: string): unknown => findNodeAtLocation(node, [key])?.value;
	if ('use' in entry) return value('use') === entry.use && value('name') === undefined;
	const plain = (path: unknown) => (typeof path === 'string' ? path.replace(/^\.\//, '') : path);
	return plain(value('file')) === plain(entry.file) && value('name') === entry.name;
}

/** `{ "file": "a.reward.ts", "weight": 0.1 }` */
function oneLine(entry: RewardEntry): string {
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
