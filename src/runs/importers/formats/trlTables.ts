import type { FolderView } from '../folderView.ts';
import { type Fields, fieldsOf } from '../foreignValues.ts';
import type { RunEvidence } from '../runFormat.ts';
import { tableRows } from './trlRows.ts';

export const completionsPattern = 'completions/completions_{step}.parquet';

export const completionsOf = (step: number) => `completions/completions_${String(step).padStart(5, '0')}.parquet`;

/**
 * Locations of completions written by TRL up to 0.24, relative to the working folder, to the W&B run folder, or to its
 * `files` folder.
 */
export const tablePatterns = ['wandb/{run}/files/media/table/', 'files/media/table/', 'media/table/'].map(
	(folder) => `${folder}completions_{index}_{hash}.table.json`,
);

/**
 * Rows in a completions file that were written by an evaluation: from row `from` onward, for these datasets in this
 * order.
 */
export interface TrlEvaluation {
	readonly from: number;
	readonly datasets: readonly { readonly name: string; readonly rows: number }[];
}

export const maxEvaluations = 200;

export const maxTables = 2000;

const maxRows = 20_000;

export interface Tables {
	readonly whole: readonly string[];
	readonly repeated: ReadonlySet<string>;
}

/** Lists the tables. The end of training logs the last table again; W&B names tables by content. */
export async function tablesOf(folder: FolderView): Promise<Tables> {
	const whole: string[] = [];
	const repeated = new Set<string>();
	const seen = new Set<string>();
	for (const pattern of tablePatterns) {
		if (!(await folder.has(pattern))) continue;
		for (const { path } of await folder.find(pattern)) {
			const key = path.replace(/completions_\d+_/, '');
			if (seen.has(key)) repeated.add(path);
			else whole.push(path);
			seen.add(key);
		}
	}
	return { whole, repeated };
}

export async function rowsOf(path: string, evidence: RunEvidence): Promise<readonly Fields[]> {
	if (!path.endsWith('.json')) {
		const records = await evidence.records(path, { form: 'parquet' }, maxRows);
		return records.map(fieldsOf).filter((row) => row !== null);
	}
	const [record] = await evidence.records(path, { form: 'json' }, 1);
	return tableRows(record)?.slice(0, maxRows) ?? [];
}

export function meanOf(rows: readonly (readonly (number | null)[])[], k: number): number | null {
	const values = rows.map((row) => row[k] ?? null).filter((value) => value !== null);
	return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

export const isNear = (a: number | null, b: number | null) =>
	a === null || b === null ? a === b : Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(a), Math.abs(b));
