import { parse } from 'jsonc-parser';
import * as v from 'valibot';
import { decode } from '../../../protocol/decode.ts';
import { type FileDataset, fileDatasetSchema, type TaskDataset, taskDatasetSchema } from '../../../protocol/recipe.ts';

export interface DatasetComment {
	/** Of the file, from 1. */
	readonly line: number;
	/** As a recipe's `dataset`; a relative path starts at the reward file's folder. null: it cannot be read. */
	readonly dataset: TaskDataset | FileDataset | null;
	/** What is wrong when there is no dataset: one sentence. */
	readonly fault?: string;
}

const comment = /^[ \t]*(?:\/\/|#|\/?\*+)[ \t]*@dataset\b[ \t]*(.*?)[ \t]*(?:\*\/[ \t]*)?\r?$/m;
const option = /[ \t]+(prompt|answer|solution)=(\S+)$/;
/** A comment stands at the top, if anywhere. */
const searched = 64 << 10;

/**
 * The data that a reward file names in a comment: `// @dataset ../data/train.jsonl`, `# @dataset data.jsonl
 * prompt=question`, or a recipe's dataset as JSON, `// @dataset {"task": "addition", "digits": 3}`. null: there is none.
 */
export function datasetComment(text: string): DatasetComment | null {
	const head = text.slice(0, searched);
	const match = comment.exec(head);
	if (match === null) return null;
	const line = head.slice(0, match.index).split('\n').length;
	const named = match[1] as string;
	if (named === '') return { line, dataset: null, fault: 'The comment "@dataset" does not name a file.' };
	if (named.startsWith('{')) {
		const schema = v.union([taskDatasetSchema, fileDatasetSchema]);
		const decoded = decode(schema as v.GenericSchema<unknown, TaskDataset | FileDataset>, parse(named));
		const complete = decoded.ok && ('task' in decoded.value || decoded.value.path !== undefined);
		if (complete) return { line, dataset: decoded.value };
		return { line, dataset: null, fault: 'The comment "@dataset" is not a dataset in recipe syntax.' };
	}
	let path = named;
	const columns: Record<string, string> = {};
	for (let found = option.exec(path); found !== null; found = option.exec(path)) {
		columns[found[1] as string] = found[2] as string;
		path = path.slice(0, found.index);
	}
	return { line, dataset: { path: path.trim().replace(/^(["'`])(.*)\1$/, '$2'), ...columns } };
}
