import { Disposable } from '../base/disposable.ts';
import { Emitter } from '../base/event.ts';
import type { IndexParams, IndexResult, ResultTable, RolloutFilter, RolloutRef } from '../protocol/rolloutIndex.ts';
import { noStep } from '../protocol/rolloutLine.ts';
import { openRun } from '../runs/openRun.ts';
import type { RolloutPlace } from '../runs/runContent.ts';
import { exportTable } from './exportTable.ts';
import type { OpenedIndex } from './openIndex.ts';
import { columnSql, conditionOf } from './rolloutFilter.ts';
import type { SearchedPart } from './textSearch.ts';
import { type Parameters, type QueryLimits, type RowTable, UserQueries } from './userQuery.ts';

const defaultTimeoutMs = 30_000;

type SearchedRollout = NonNullable<SearchedPart['only']>[number];

export interface IndexQueryOptions {
	/** Memory limit for the process, in MB. A statement that exceeds it is stopped. */
	readonly processMb: number;
}

/** Answers questions about the indexed rollouts. */
export abstract class IndexQueries extends Disposable {
	protected readonly opened: OpenedIndex;
	readonly #processMb: number;
	readonly #stuck = this.register(new Emitter<void>());
	readonly #queries: UserQueries;
	/** Fires if a statement does not stop; the process should exit. */
	readonly onStuck = this.#stuck.event;

	protected constructor(opened: OpenedIndex, { processMb }: IndexQueryOptions) {
		super();
		this.opened = opened;
		this.#processMb = processMb;
		this.#queries = new UserQueries(opened.database, () => this.#stuck.fire());
	}

	async sql(params: IndexParams<'sql'>, signal?: AbortSignal): Promise<ResultTable> {
		const table = await this.#queries.table(
			params.sql,
			params.parameters ?? {},
			{ ...this.#limits(params.limit, params.timeoutMs), offset: params.offset },
			signal,
		);
		return { ...table, refs: await this.#refs(table) };
	}

	async rollouts(params: IndexParams<'rollouts'>, signal?: AbortSignal): Promise<ResultTable> {
		const { sql, parameters } = await this.#condition(params.filter);
		const sort = params.sort;
		const ties = 'run, split, step, group_id, "index"';
		const order =
			sort === undefined
				? ties
				: `${columnSql(sort.column, false)} ${sort.descending ? 'desc' : 'asc'} nulls last, ${ties}`;
		const limit = params.limit + 1;
		const table = await this.#run(
			`select * from rollouts where ${sql} order by ${order} limit ${limit} offset ${params.offset ?? 0}`,
			parameters,
			params.limit,
			signal,
		);
		return { ...table, refs: await this.#refs(table) };
	}

	async count({ filter }: IndexParams<'count'>, signal?: AbortSignal): Promise<IndexResult<'count'>> {
		const { sql, parameters } = await this.#condition(filter);
		const table = await this.#run(
			`select count(*), count(distinct (run, split, step, group_id)),
				count(distinct (run, step)) filter (step is not null), count(distinct run)
			from rollouts where ${sql}`,
			parameters,
			1,
			signal,
		);
		const [rollouts, groups, steps, runs] = (table.rows[0] ?? []).map(Number);
		return { rollouts: rollouts ?? 0, groups: groups ?? 0, steps: steps ?? 0, runs: runs ?? 0 };
	}

	async histogram(params: IndexParams<'histogram'>, signal?: AbortSignal): Promise<IndexResult<'histogram'>> {
		const { sql, parameters } = await this.#condition(params.filter);
		const buckets = params.buckets;
		const table = await this.#run(
			`with v as (select ${columnSql(params.column, true)}::DOUBLE as x from rollouts where ${sql}),
			e as (select min(x) as low, max(x) as high, count(*) - count(x) as nulls from v),
			b as (
				select least(${buckets - 1}, case when high > low then floor((x - low) / (high - low) * ${buckets}) else 0 end)
					::INTEGER as bucket, count(*) as n
				from v, e where x is not null group by 1
			)
			select low, high, nulls, bucket, n from e left join b on true order by bucket`,
			parameters,
			buckets + 1,
			signal,
		);
		const counts = new Array<number>(buckets).fill(0);
		for (const row of table.rows) if (row[3] !== null) counts[Number(row[3])] = Number(row[4]);
		const [low, high, nulls] = table.rows[0] ?? [];
		const finite = (cell: unknown) => (typeof cell === 'number' ? cell : null);
		return { low: finite(low), high: finite(high), counts, nulls: Number(nulls ?? 0) };
	}

	async overTraining(params: IndexParams<'overTraining'>, signal?: AbortSignal): Promise<IndexResult<'overTraining'>> {
		const { sql, parameters } = await this.#condition(params.filter);
		const means = params.columns.map((column) => `, avg(${columnSql(column, true)})`).join('');
		const table = await this.#run(
			`select run, step, count(*)${means} from rollouts where step is not null and ${sql} group by run, step order by run, step`,
			parameters,
			1_000_000,
			signal,
		);
		const folders = new Map([...(await this.#labels())].map(([folder, label]) => [label, folder]));
		return {
			points: table.rows.map(([run, step, rollouts, ...values]) => ({
				run: folders.get(String(run)) ?? String(run),
				step: Number(step),
				rollouts: Number(rollouts),
				means: values.map((value) => (typeof value === 'number' ? value : null)),
			})),
		};
	}

	/** Returns rollout locations. For a step that is not indexed, the locations are read from its files. */
	async places({ run, split, step, group }: IndexParams<'places'>): Promise<IndexResult<'places'>> {
		const connection = await this.opened.database.connect();
		try {
			const rows = await connection.rows(
				`select file, byte_offset, byte_length, item, group_id, "index" from rollout
				where run_key = (select key from run where folder = $run) and split = $split and step = $step::BIGINT
					and group_id = $group::BIGINT
				order by "index"`,
				{ run, split, step: BigInt(Math.trunc(step)), group: BigInt(Math.trunc(group)) },
			);
			if (rows.length > 0) {
				return {
					places: rows.map(([file, ...numbers]) => {
						const [offset, length, item, of, index] = numbers.map(Number) as [number, number, number, number, number];
						return { file: String(file), offset, length, item, group: of, index };
					}),
				};
			}
		} finally {
			connection.close();
		}
		const places: RolloutPlace[] = [];
		const rollouts = await (await openRun(run)).open(step, split);
		try {
			for await (const { place } of rollouts.rollouts()) if (place?.group === group) places.push(place);
		} finally {
			await rollouts.close();
		}
		return { places: places.sort((a, b) => a.index - b.index) };
	}

	async export(params: IndexParams<'export'>, signal?: AbortSignal): Promise<IndexResult<'export'>> {
		const processMb = this.#processMb;
		return await this.#queries.each(
			params.sql,
			params.parameters ?? {},
			{ timeoutMs: 600_000, processMb },
			signal,
			(result) => exportTable(result, params.path, params.format),
		);
	}

	/** Returns a run's rollouts that match a filter, keyed by split and step, such as "train 3". */
	protected async matching(
		folder: string,
		filter: RolloutFilter,
		signal?: AbortSignal,
	): Promise<Map<string, SearchedRollout[]>> {
		const { sql, parameters } = await this.#condition({ ...filter, runs: [folder] });
		const only = new Map<string, SearchedRollout[]>();
		await this.#queries.each(
			`select split, coalesce(step, ${noStep}), byte_offset, group_id, "index" from rollouts where ${sql}`,
			parameters,
			this.#limits(0),
			signal,
			async (result) => {
				for (
					let chunk = await result.fetchChunk();
					chunk !== null && chunk.rowCount > 0;
					chunk = await result.fetchChunk()
				) {
					for (const [of, step, offset, group, index] of chunk.getRows()) {
						const name = `${of} ${step}`;
						const list = only.get(name) ?? [];
						list.push({ offset: Number(offset), group: Number(group), index: Number(index) });
						only.set(name, list);
					}
				}
			},
		);
		return only;
	}

	#limits(rows: number, timeoutMs = defaultTimeoutMs): QueryLimits {
		return { rows, timeoutMs, processMb: this.#processMb };
	}

	#run(sql: string, parameters: Parameters, rows: number, signal?: AbortSignal): Promise<RowTable> {
		return this.#queries.table(sql, parameters, this.#limits(rows), signal);
	}

	async #condition(filter: RolloutFilter) {
		return conditionOf(filter, await this.#labels());
	}

	/** Maps folders to the run labels used in the views. */
	async #labels(): Promise<Map<string, string>> {
		const connection = await this.opened.database.connect();
		try {
			const rows = await connection.rows('select folder, label from run');
			return new Map(rows.map(([folder, label]) => [String(folder), String(label)]));
		} finally {
			connection.close();
		}
	}

	/** Returns the rollouts that the rows of a result refer to, if its columns identify them. */
	async #refs({ columns, rows }: RowTable): Promise<ResultTable['refs']> {
		const at = ['run', 'split', 'step', 'group_id', 'index'].map((name) => columns.findIndex((c) => c.name === name));
		if (at.includes(-1)) return null;
		const folders = new Map([...(await this.#labels())].map(([folder, label]) => [label, folder]));
		return rows.map((row): RolloutRef | null => {
			const [label, split, cell, group, index] = at.map((i) => row[i]);
			const step = cell === null ? noStep : cell;
			const run = folders.get(String(label));
			if (run === undefined || (split !== 'train' && split !== 'validation')) return null;
			if (typeof step !== 'number' || typeof group !== 'number' || typeof index !== 'number') return null;
			return { run, split, step, group, index };
		});
	}
}
