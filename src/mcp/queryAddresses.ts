import { formatAddress } from '../core/address/dataAddress.ts';
import type { Cell, ResultTable } from '../protocol/rolloutIndex.ts';
import type { RolloutSplit } from '../protocol/rolloutSplit.ts';
import type { RolloutIndex } from '../rolloutIndex/rolloutIndex.ts';
import type { KnownRun } from './runs.ts';

const timeoutMs = 20_000;
/** Maximum number of metric values or evaluations to compare with a page of rows. */
const maxCompared = 50_000;

/** Advice for rows without addresses. */
export const noAddresses =
	'These rows do not identify data, so they have no addresses. Include run, split and step to get the address of a step, plus group_id for a group and index for a completion; or run, step, name and value from metrics; or run, step, name and accuracy from evaluations.';

/**
 * Returns addresses for the rows of a query whose columns identify groups, steps, metric values or evaluations: the
 * data that an aggregate was computed from. Metrics and evaluations must be in the index with the row's value. Without
 * a `split` column, a run's only split is used; rows of runs with several splits have no address.
 * @returns null if the columns do not identify such data
 */
export async function queryAddresses(
	{ columns, rows }: Pick<ResultTable, 'columns' | 'rows'>,
	index: Pick<RolloutIndex, 'sql'>,
	known: readonly KnownRun[],
	signal: AbortSignal,
): Promise<readonly (string | null)[] | null> {
	const at = (name: string) => columns.findIndex((column) => column.name === name);
	const [run, step] = [at('run'), at('step')];
	if (run < 0 || step < 0 || rows.length === 0) return null;
	const select = async (sql: string, parameters: Record<string, Cell> = {}) =>
		(await index.sql({ sql, parameters, limit: maxCompared, timeoutMs }, signal)).rows;
	const folders = new Map((await select('select run, folder from runs')).map(([label, folder]) => [label, folder]));
	const nameOf = (row: readonly Cell[]) => {
		const folder = folders.get(row[run] ?? null);
		return known.find((one) => one.folder === folder)?.name;
	};
	/** Returns addresses of rows identified by a named value at a step. */
	const named = async (view: 'metrics' | 'evaluations', value: 'value' | 'accuracy') => {
		const [name, number] = [at('name'), at(value)];
		const key = (cells: readonly (Cell | undefined)[]) => JSON.stringify(cells);
		const names = [...new Set(rows.map((row) => row[name]))].join('\u001f');
		const found = await select(
			`select run, step, name, ${value} from ${view} where name in (select unnest(string_split($names, chr(31))))`,
			{ names },
		);
		const kept = new Set(found.map(key));
		return rows.map((row) => {
			const label = nameOf(row);
			const cells = [run, step, name, number].map((column) => row[column]);
			const [, atStep, text] = cells;
			if (label === undefined || typeof text !== 'string' || !kept.has(key(cells))) return null;
			if (typeof atStep !== 'number') return null;
			return view === 'metrics'
				? formatAddress({ kind: 'metric', run: label, metric: text, step: atStep })
				: formatAddress({ kind: 'evaluation', run: label, name: text, step: atStep });
		});
	};
	if (at('name') >= 0) {
		if (at('value') >= 0) return named('metrics', 'value');
		return at('accuracy') >= 0 ? named('evaluations', 'accuracy') : null;
	}
	const [split, group] = [at('split'), at('group_id')];
	const splits =
		split < 0 ? Map.groupBy(await select('select distinct run, split from rollouts'), ([label]) => label) : null;
	const splitOf = (row: readonly Cell[]): RolloutSplit | null => {
		const only = splits?.get(row[run] ?? null);
		const cell = splits === null ? row[split] : only?.length === 1 ? only[0]?.[1] : null;
		return cell === 'train' || cell === 'validation' ? cell : null;
	};
	return rows.map((row) => {
		const place = { run: nameOf(row), split: splitOf(row), step: row[step], group: group < 0 ? null : row[group] };
		if (place.run === undefined || place.split === null || !isWhole(place.step)) return null;
		const data = { run: place.run, split: place.split, step: place.step };
		if (place.group === null) return formatAddress({ kind: 'step', ...data });
		return isWhole(place.group) ? formatAddress({ kind: 'group', ...data, group: place.group }) : null;
	});
}

const isWhole = (cell: Cell | undefined): cell is number => Number.isSafeInteger(cell) && (cell as number) >= 0;
