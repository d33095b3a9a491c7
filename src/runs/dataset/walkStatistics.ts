import type { AbortSignalLike } from '../../base/async.ts';
import { parseDatasetRow, promptKey } from '../../core/dataset/datasetRows.ts';
import { DuplicateFinder } from '../../core/dataset/hygiene/duplicateFinder.ts';
import type { DuplicateGroup } from '../../core/dataset/hygiene/nearDuplicates.ts';
import { FactsCounter } from '../../core/dataset/hygiene/statistics.ts';
import { WordHashes } from '../../core/dataset/hygiene/wordHashes.ts';
import { isHeldOut } from '../../core/dataset/split.ts';
import { type ColumnMapping, datasetColumns } from '../../core/dataset/table/columnMapping.ts';
import { rolesOf } from '../../core/dataset/table/rowRoles.ts';
import { inTurns } from '../../files/turns.ts';
import type { DatasetStatistics } from '../../protocol/datasetMessages.ts';
import type { DataTable, OnWalk } from './dataTable.ts';

/** Limits on the data kept in memory; the statistics report when they apply. */
export const statisticsLimits = { exact: 2_000_000, near: 20_000, vocabulary: 500_000 } as const;
export type StatisticsLimits = { readonly [Limit in keyof typeof statisticsLimits]: number };

export interface WalkedStatistics {
	readonly statistics: DatasetStatistics;
	/** Rows that are exact or near duplicates, mapped to the earlier row. */
	readonly repeats: ReadonlyMap<number, number>;
}

/** Reads all rows once. Fails with `cancelled`. */
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
	const finder = new DuplicateFinder({ distinct: limits.exact, texts: limits.near });
	const hashes = new WordHashes();
	let [refused, heldOut] = [0, 0];
	let firstRefused: DatasetStatistics['firstRefused'] = null;
	for await (const { row, value, fault } of table.scan(signal, onWalk)) {
		const parsed = value === null ? null : parseDatasetRow(value, row + 1, columns);
		if (parsed === null || parsed.kind === 'fault') {
			refused++;
			firstRefused ??= { row, message: parsed === null ? (fault ?? '') : parsed.fault.message };
		}
		if (value === null) continue;
		const roles = rolesOf(value, mapping);
		const words = hashes.read(roles.prompt ?? '');
		facts.add(roles, words);
		if (roles.prompt === null) continue;
		if (isHeldOut(promptKey(roles.prompt), share)) heldOut++;
		finder.add(row, words);
	}
	const { exact, near } = await inTurns(finder.search(), signal);
	const repeats = new Map<number, number>();
	for (const [first = 0, ...others] of [...exact, ...near]) for (const row of others) repeats.set(row, first);
	const repeated = (groups: readonly DuplicateGroup[]) => ({
		groups: groups.length,
		repeated: groups.reduce((sum, group) => sum + group.length - 1, 0),
	});
	const { compared } = finder;
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
			exact: repeated(exact),
			near: repeated(near),
			compared: { exact: compared.exact, near: compared.near },
			heldOut,
			share,
		},
		repeats,
	};
}
