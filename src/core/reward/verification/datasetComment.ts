import { parse } from 'jsonc-parser';
import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';
import {
	type FileDataset,
	fileDatasetSchema,
	type TaskDataset,
	taskDatasetSchema,
} from '../../../protocol/recipeKeys/recipe.ts';

export interface DatasetComment {
	/** 1-based line number in the file. */
	readonly line: number;
	/** Dataset in recipe syntax; relative paths are resolved against the reward file's folder. null if invalid. */
	readonly dataset: TaskDataset | FileDataset | null;
	/** Error message, as one sentence, if `dataset` is null. */
	readonly fault?: string;
}

const comment = /^[ \t]*(?:\/\/|#|\/?\*+)[ \t]*@dataset\b[ \t]*(.*?)[ \t]*(?:\*\/[ \t]*)?\r?$/m;
const option = /[ \t]+(prompt|answer|solution)=(\S+)$/;
/** Number of leading characters to search for the comment. */
const searched = 64 << 10;

/**
 * Finds the dataset comment in a reward file: `// @dataset ../data/train.jsonl`, `# @dataset data.jsonl
 * prompt=question`, or a recipe dataset as JSON, `// @dataset {"task": "addition", "digits": 3}`. Returns null if there
 * is none.
 */
export function datasetComment(text: string): DatasetComment | null {
	const head = text.slice(0, searched);
	const match = comment.exec(head);
	if (match === null) return null;
	const line = head.slice(0, match.index).split('\n').length;
	const named = match[1] as string;
	if (named === '') return { line, dataset: null, fault: 'The "@dataset" comment does not specify a file.' };
	if (named.startsWith('{')) {
		const schema = v.union([taskDatasetSchema, fileDatasetSchema]);
		const decoded = decode(schema as v.GenericSchema<unknown, TaskDataset | FileDataset>, parse(named));
		const complete = decoded.ok && ('task' in decoded.value || decoded.value.path !== undefined);
		if (complete) return { line, dataset: decoded.value };
		return { line, dataset: null, fault: 'The "@dataset" comment is not valid recipe syntax for a dataset.' };
	}
	let path = named;
	const columns: Record<string, string> = {};
	for (let found = option.exec(path); found !== null; found = option.exec(path)) {
		columns[found[1] as string] = found[2] as string;
		path = path.slice(0, found.index);
	}
	return { line, dataset: { path: path.trim().replace(/^(["'`])(.*)\1$/, '$2'), ...columns } };
}
