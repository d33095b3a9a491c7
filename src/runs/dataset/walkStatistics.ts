import type { AbortSignalLike } from '../../base/async.ts';
import { hashText } from '../../base/random.ts';
import { parseDatasetRow, promptKey } from '../../core/dataset/datasetRows.ts';
import { NearDuplicates } from '../../core/dataset/hygiene/nearDuplicates.ts';
import { FactsCounter } from '../../core/dataset/hygiene/statistics.ts';
import { wordsOf } from '../../core/dataset/hygiene/words.ts';
import { isHeldOut } from '../../core/dataset/split.ts';
import { type ColumnMapping, datasetColumns } from '../../core/dataset/table/columnMapping.ts';
import { rolesOf } from '../../core/dataset/table/rowRoles.ts';
import type { DatasetStatistics } from '../../protocol/datasetMessages.ts';
import type { DataTable, OnWalk } from './dataTable.ts';

/** What is kept in memory has a limit, which the statistics tell. */
export const statisticsLimits = { exact: 2_000_000, near: 20_000, vocabulary: 500_000 } as const;
export type StatisticsLimits = { readonly [Limit in keyof typeof statisticsLimits]: number };

export interface WalkedStatistics {
	readonly statistics: DatasetStatistics;
	/** Rows that repeat an earlier one, exactly or nearly, and which one that is. */
	readonly repeats: ReadonlyMap<number, number>;
}

/** Goes through all rows once. Fails with `cancelled`. */
export async function walkStatistics(
	table: DataTable,
	mapping: ColumnMapping,
	share: number,
	{
		signal,
		onWalk,
		limits = statisticsLimits,
	}: { signal?: AbortSignalLike; onWalk?: OnWalk; limits?: StatisticsLimits } = {},
): Promise<WalkedStatistics> {
	const columns = datasetColumns(mapping);
	const facts = new FactsCounter(limits.vocabulary);
	const near = new NearDuplicates();
	/** By a hash of 53 bits of their words: the first row that has them. */
	const firsts = new Map<number, number>();
	const repeats = new Map<number, number>();
	const repeated = new Set<number>();
	let [refused, heldOut, exactRows] = [0, 0, 0];
	let firstRefused: DatasetStatistics['firstRefused'] = null;
	for await (const { row, value, fault } of table.scan(signal, onWalk)) {
		const parsed = value === null ? null : parseDatasetRow(value, row + 1, columns);
		if (parsed === null || parsed.kind === 'fault') {
			refused++;
			firstRefused ??= { row, message: parsed === null ? (fault ?? '') : parsed.fault.message };
		}
		if (value === null) continue;
		const roles = rolesOf(value, mapping);
		const words = roles.prompt === null ? [] : wordsOf(roles.prompt);
		facts.add(roles, words);
		if (roles.prompt === null) continue;
		if (isHeldOut(promptKey(roles.prompt), share)) heldOut++;
		// A row without words is no row's duplicate.
		if (words.length === 0) continue;
		exactRows++;
		const joined = words.join(' ');
		const key = (hashText(joined, 1) & 0x1fffff) * 4294967296 + hashText(joined, 2);
		const first = firsts.get(key);
		if (first !== undefined) {
			repeats.set(row, first);
			repeated.add(first);
			continue;
		}
		if (firsts.size < limits.exact) firsts.set(key, row);
		if (near.size < limits.near) near.add(row, words);
	}
	const exact = { groups: repeated.size, repeated: repeats.size };
	const groups = near.groups;
	let nearRepeated = 0;
	for (const [first = 0, ...others] of groups) {
		nearRepeated += others.length;
		for (const row of others) repeats.set(row, first);
	}
	const { rows, prompt, answer, solution, withSolution, answerKinds, vocabulary } = facts.facts;
	return {
		statistics: {
			rows,
			refused,
			firstRefused,
			prompt,
			answer,
			solution,
			withSolution,
			answerKinds: answerKinds.map(([kind, times]) => [kind, times]),
			vocabulary,
			exact,
			near: { groups: groups.length, repeated: nearRepeated },
			compared: { exact: exactRows, near: near.size },
			heldOut,
			share,
		},
		repeats,
	};
}
