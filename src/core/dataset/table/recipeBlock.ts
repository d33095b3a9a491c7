import { findNodeAtLocation, modify, parseTree } from 'jsonc-parser';
import { Failure } from '../../../base/failure.ts';
import type { TaskDataset } from '../../../protocol/recipeKeys/recipe.ts';
import { datasetPresets } from '../presets.ts';
import type { ColumnMapping } from './columnMapping.ts';

/** The `dataset` section of a recipe, without defaults. */
export type DatasetBlock = Readonly<Record<string, unknown>>;

/** @param path file path, as written in the recipe */
export function fileBlock(path: string, mapping: ColumnMapping, share: number): DatasetBlock {
	const usual =
		mapping.preset === null
			? { prompt: 'prompt', answer: 'answer', solution: 'solution' }
			: datasetPresets[mapping.preset];
	const block: Record<string, unknown> = { path };
	if (mapping.preset !== null) block.preset = mapping.preset;
	for (const role of ['prompt', 'answer', 'solution'] as const) {
		const column = mapping[role];
		if (column !== null && column !== usual[role]) block[role] = column;
	}
	if (share !== 0.1) block.heldOutShare = share;
	return block;
}

export function taskBlock(dataset: TaskDataset): DatasetBlock {
	return Object.fromEntries(Object.entries(dataset).filter(([, value]) => value !== undefined));
}

/** A text replacement. */
export interface TextChange {
	readonly offset: number;
	readonly length: number;
	readonly text: string;
}

/**
 * Returns the edits that set `dataset` in a recipe, preserving comments elsewhere. Throws `invalid` if the text is not
 * a recipe.
 */
export function setDataset(text: string, block: DatasetBlock): TextChange[] {
	const root = parseTree(text, [], { allowTrailingComma: true });
	if (root?.type !== 'object')
		throw new Failure('invalid', 'The recipe is not a JSON object.', 'Fix the recipe first.');
	const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? '\t';
	const formattingOptions = {
		insertSpaces: !indent.includes('\t'),
		tabSize: indent.includes('\t') ? 4 : indent.length,
		eol: text.includes('\r\n') ? '\r\n' : '\n',
	};
	const present = findNodeAtLocation(root, ['dataset']);
	if (present !== undefined) return [{ offset: present.offset, length: present.length, text: oneLine(block) }];
	return modify(text, ['dataset'], block, { formattingOptions }).map(({ offset, length, content }) => ({
		offset,
		length,
		text: content,
	}));
}

/** `{ "path": "a.jsonl", "prompt": "question" }` */
export function oneLine(block: DatasetBlock): string {
	const fields = Object.entries(block).map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
	return `{ ${fields.join(', ')} }`;
}
