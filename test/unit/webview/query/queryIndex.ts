import { setTimeout as pause } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { Emitter } from '../../../../src/base/event.ts';
import { Failure } from '../../../../src/base/failure.ts';
import type { QueryIndex } from '../../../../src/extension/panels/query/querySession.ts';
import type {
	Cell,
	IndexMethod,
	IndexNews,
	IndexParams,
	IndexProgress,
	IndexResult,
	ResultTable,
	TextHit,
} from '../../../../src/protocol/rolloutIndex.ts';

/** Queries a database with the documented views in process; texts are synthetic, one per rollout. */
export class DatabaseIndex implements QueryIndex {
	readonly #connection: DuckDBConnection;
	readonly #progress = new Emitter<IndexNews<'progress'>>();
	readonly #hits = new Emitter<IndexNews<'hits'>>();
	readonly onProgress = this.#progress.event;
	readonly #ended = new Emitter<void>();
	readonly onHits = this.#hits.event;
	readonly onEnded = this.#ended.event;
	readonly asked: { readonly method: IndexMethod; readonly params: unknown }[] = [];
	readonly canceled: IndexMethod[] = [];
	/** Completions by index in the group. */
	texts: readonly string[] = ['so it is 7', 'wait, let me check: 12', 'no', 'check again: 12', 'a', 'b', 'c', 'd'];
	/** Delay between two batches of hits. */
	portionMs = 0;
	status: IndexResult<'status'>;
	/** Error with which every request fails, if any. */
	failure: Failure | null = null;

	constructor(connection: DuckDBConnection, runs: readonly IndexProgress[]) {
		this.#connection = connection;
		this.status = { runs: [...runs], index: 'own', bytes: 1, message: null };
	}

	report(progress: IndexProgress): void {
		this.#progress.fire(progress);
	}

	async request<M extends IndexMethod>(
		method: M,
		params: IndexParams<M>,
		signal?: AbortSignal,
	): Promise<IndexResult<M>> {
		this.asked.push({ method, params });
		if (this.failure) throw this.failure;
		const answer = await this.#answer(method, params as never, signal);
		return answer as IndexResult<M>;
	}

	async #answer(method: IndexMethod, params: never, signal?: AbortSignal): Promise<unknown> {
		switch (method) {
			case 'status':
				return this.status;
			case 'sql':
				return this.#sql(params, signal);
			case 'search':
				return this.#search(params, signal);
			case 'export': {
				const { sql, path, format } = params as IndexParams<'export'>;
				await this.#connection.run(`COPY (${sql.replace(/;\s*$/, '')}\n) TO '${path}' (FORMAT ${format})`);
				return { rows: 1, bytes: 1 };
			}
			default:
				throw new Failure('unsupported', `The query view does not send ${method}.`);
		}
	}

	async #sql({ sql, limit }: IndexParams<'sql'>, signal?: AbortSignal): Promise<ResultTable> {
		if (/pg_sleep|slow/.test(sql)) {
			await pause(60_000, undefined, { signal: signal as AbortSignal }).catch(() => {
				this.canceled.push('sql');
				throw new Failure('cancelled', 'Canceled.');
			});
		}
		const start = performance.now();
		try {
			const reader = await this.#connection.runAndReadUntil(sql, limit + 1);
			const columns = reader.columnNames().map((name, i) => ({ name, type: String(reader.columnType(i)) }));
			const rows = reader
				.getRows()
				.slice(0, limit)
				.map((row) => row.map(cellOf));
			const at = (name: string) => columns.findIndex((column) => column.name === name);
			const places = ['run', 'split', 'step', 'group_id', 'index'].map(at);
			const refs = places.some((place) => place < 0)
				? null
				: rows.map((row) => {
						const [run, split, step, group, index] = places.map((place) => row[place]) as [
							string,
							never,
							number,
							number,
							number,
						];
						return { run: `/runs/${run}`, split, step, group, index };
					});
			return { columns, rows, truncated: reader.currentRowCount > limit, refs, millis: performance.now() - start };
		} catch (error) {
			throw new Failure('invalid', (error as Error).message);
		}
	}

	async #search({ search, query, limit }: IndexParams<'search'>, signal?: AbortSignal): Promise<IndexResult<'search'>> {
		const pattern = new RegExp(
			query.regex ? query.pattern : query.pattern.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
			`gus${query.caseSensitive ? '' : 'i'}`,
		);
		let found = 0;
		const total = 1000 * this.texts.length;
		for (const [index, text] of this.texts.entries()) {
			if (this.portionMs > 0) {
				await pause(this.portionMs, undefined, { signal: signal as AbortSignal }).catch(() => {
					this.canceled.push('search');
					throw new Failure('cancelled', 'Canceled.');
				});
			}
			const matches = [...text.matchAll(pattern)];
			const [first] = matches;
			const hits: TextHit[] = first
				? [
						{
							run: '/runs/a',
							split: 'train',
							step: 1,
							group: 0,
							index,
							count: matches.length,
							before: text.slice(0, first.index),
							match: first[0],
							after: text.slice(first.index + first[0].length),
						},
					]
				: [];
			found += hits.length;
			this.#hits.fire({ search, hits, bytes: 1000 * (index + 1), total });
			if (found >= limit) break;
		}
		return { hits: found, complete: true, bytes: total, millis: 12, limits: [] };
	}
}

function cellOf(value: DuckDBValue): Cell {
	if (value === null || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string')
		return value;
	if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
	return String(value);
}

export const indexed = (run: string, changes: Partial<IndexProgress> = {}): IndexProgress => ({
	run,
	state: 'ready',
	done: 1000,
	total: 1000,
	rollouts: 120,
	skipped: 0,
	message: null,
	...changes,
});
