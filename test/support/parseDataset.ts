import { Failure } from '../../src/base/failure.ts';
import { type DatasetColumns, defaultColumns, parseDatasetLine } from '../../src/core/dataset/datasetRows.ts';
import type { Problem } from '../../src/core/dataset/problem.ts';

/** Returns all rows in a JSONL text. Throws `invalid` for the first invalid line, or if there are no rows. */
export function parseDataset(text: string, what: string, columns: DatasetColumns = defaultColumns): Problem[] {
	const problems: Problem[] = [];
	let line = 0;
	for (let at = 0; at < text.length; ) {
		const end = text.indexOf('\n', at);
		const stop = end < 0 ? text.length : end;
		const parsed = parseDatasetLine(text.slice(at, stop), ++line, columns);
		if (parsed.kind === 'fault') {
			throw new Failure('invalid', `${what}, line ${parsed.fault.line}, ${parsed.fault.message}.`, parsed.fault.action);
		}
		if (parsed.kind === 'row') problems.push(parsed.problem);
		at = stop + 1;
	}
	if (problems.length === 0) {
		throw new Failure('invalid', `${what} has no rows.`, 'Write one JSON object with prompt and answer per line.');
	}
	return problems;
}
