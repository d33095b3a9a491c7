import { Disposable } from '../../../base/disposable.ts';
import type { Event } from '../../../base/event.ts';
import { Failure } from '../../../base/failure.ts';
import {
	type Answer,
	maxHits,
	type QueryEvent,
	type QueryRun,
	type Question,
	type SearchEnd,
} from '../../../protocol/queryMessages.ts';
import type {
	IndexMethod,
	IndexNews,
	IndexParams,
	IndexProgress,
	IndexResult,
	ResultTable,
} from '../../../protocol/rolloutIndex.ts';
import type { TableExport } from '../../../protocol/tableExport.ts';

/** The index worker's client interface. */
export interface QueryIndex {
	request<M extends IndexMethod>(method: M, params: IndexParams<M>, signal?: AbortSignal): Promise<IndexResult<M>>;
	readonly onProgress: Event<IndexNews<'progress'>>;
	readonly onHits: Event<IndexNews<'hits'>>;
	/** Fires when the worker exits; it is restarted by the next request. */
	readonly onEnded: Event<void>;
}

export interface KnownRun {
	readonly folder: string;
	readonly name: string;
	readonly format: string;
}

export interface QuerySessionOptions {
	readonly rolloutIndex: QueryIndex;
	readonly runs: () => readonly KnownRun[];
	readonly post: (event: QueryEvent) => void;
	/** Persistent history of executed queries, newest first. */
	readonly history: { read(): readonly string[]; write(history: readonly string[]): void };
	/** Minimum interval between overviews, in milliseconds, because progress updates are frequent. */
	readonly newsMs?: number;
}

/** A query to run once the view is ready, as requested by a command. */
export interface QueryPlace {
	readonly sql?: string;
	/** Run folders; absent for all runs. */
	readonly runs?: readonly string[];
}

type Overview = Pick<Extract<QueryEvent, { type: 'overview' }>, 'runs' | 'components' | 'fault' | 'remark'>;

const maxHistory = 50;
const maxComponents = 500;

/**
 * Extension side of the query view: available runs, the last result, and queries in progress. When a hidden view is
 * shown again, it gets the last result; queries continue while it is hidden.
 */
export class QuerySession extends Disposable {
	readonly #options: QuerySessionOptions;
	readonly #progress = new Map<string, IndexProgress>();
	/** Queries in progress, by the view's query number. */
	readonly #working = new Map<number, AbortController>();
	#components: readonly string[] = [];
	#fault: Failure | null = null;
	#remark: string | null = null;
	#answer: Answer | null = null;
	/** Number of the search that produced the current hits. */
	#search: number | null = null;
	/** Number of the query being executed. */
	#busy: number | null = null;
	/** Whether the view was hidden during the query, in which case the response to its request is lost. */
	#orphaned = false;
	#wanted: QueryPlace | null = null;
	#listening = false;
	#timer: NodeJS.Timeout | null = null;
	#componentsStale = true;

	constructor(options: QuerySessionOptions) {
		super();
		this.#options = options;
		this.register(options.rolloutIndex.onProgress((progress) => this.#takeProgress(progress)));
		this.register(options.rolloutIndex.onHits((news) => this.#takeHits(news)));
		this.register(
			options.rolloutIndex.onEnded(() => {
				this.#progress.clear();
				if (this.#listening) void this.refresh();
			}),
		);
		this.register({
			dispose: () => {
				if (this.#timer !== null) clearTimeout(this.#timer);
				for (const controller of this.#working.values()) controller.abort();
			},
		});
		void this.refresh();
	}

	/** Called when the view has (re)started; sends it the complete state. */
	begin(): void {
		this.#listening = true;
		this.#orphaned = this.#busy !== null;
		this.#sendSnapshot();
		if (this.#componentsStale) this.#schedule();
	}

	/** Enters a query in the view. */
	want(place: QueryPlace): void {
		this.#wanted = place;
		this.#sendSnapshot();
	}

	/** Updates the list of runs and their names, and the index state. */
	async refresh(): Promise<void> {
		try {
			const status = await this.#options.rolloutIndex.request('status', {});
			for (const progress of status.runs) this.#progress.set(progress.run, progress);
			this.#remark = status.message;
			this.#fault = null;
			this.#componentsStale = true;
		} catch (error) {
			this.#fault = Failure.from(error);
		}
		this.#schedule();
	}

	async run(id: number, question: Question, statement: string, limit: number): Promise<ResultTable> {
		this.#remember(question);
		this.#ask(id, null);
		try {
			const table = await this.side(id, statement, limit);
			this.#settle(id, { kind: 'table', question, table });
			return table;
		} catch (error) {
			throw this.#failed(id, question, error);
		}
	}

	/** Starts a new query and cancels the previous one if it is still running. */
	#ask(id: number, answer: Answer | null): void {
		if (this.#busy !== null && this.#busy !== id) this.cancel(this.#busy);
		this.#busy = id;
		this.#orphaned = false;
		this.#search = answer === null ? null : id;
		this.#answer = answer;
	}

	#settle(id: number, answer: Answer | null): void {
		if (this.#busy !== id) return;
		this.#busy = null;
		this.#answer = answer;
		if (this.#orphaned) this.#sendSnapshot();
	}

	#failed(id: number, question: Question, error: unknown): Failure {
		const failure = Failure.from(error);
		const found = this.#answer?.kind === 'hits' && this.#answer.hits.length > 0;
		const keep = found || failure.reason === 'cancelled';
		this.#settle(id, keep ? this.#answer : { kind: 'failure', question, failure: failure.toJSON() });
		return failure;
	}

	side(id: number, statement: string, limit: number): Promise<ResultTable> {
		return this.#work(id, (signal) => this.#options.rolloutIndex.request('sql', { sql: statement, limit }, signal));
	}

	async search(id: number, question: Question): Promise<SearchEnd> {
		if (question.kind !== 'search') throw new Failure('invalid', 'An SQL statement cannot be used for text search.');
		const { query, filter } = question;
		this.#ask(id, { kind: 'hits', question, hits: [], end: null });
		try {
			const end = await this.#work(id, (signal) =>
				this.#options.rolloutIndex.request('search', { search: searchName(id), query, filter, limit: maxHits }, signal),
			);
			this.#settle(id, this.#answer?.kind === 'hits' ? { ...this.#answer, end } : this.#answer);
			return end;
		} catch (error) {
			throw this.#failed(id, question, error);
		}
	}

	export(
		id: number,
		sql: string,
		path: string,
		format: TableExport,
	): Promise<{ readonly rows: number; readonly bytes: number }> {
		return this.#work(id, (signal) => this.#options.rolloutIndex.request('export', { sql, path, format }, signal));
	}

	cancel(id: number): void {
		this.#working.get(id)?.abort();
	}

	async #work<T>(id: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
		const controller = new AbortController();
		this.#working.get(id)?.abort();
		this.#working.set(id, controller);
		try {
			return await work(controller.signal);
		} finally {
			if (this.#working.get(id) === controller) this.#working.delete(id);
		}
	}

	#remember(question: Question): void {
		if (question.kind !== 'sql') return;
		const sql = question.sql.trim();
		if (sql === '') return;
		const { history } = this.#options;
		history.write([sql, ...history.read().filter((other) => other !== sql)].slice(0, maxHistory));
	}

	#takeProgress(progress: IndexProgress): void {
		const before = this.#progress.get(progress.run);
		this.#progress.set(progress.run, progress);
		if (progress.state === 'ready' && before?.rollouts !== progress.rollouts) this.#componentsStale = true;
		this.#schedule();
	}

	#takeHits({ search, hits, bytes, total }: IndexNews<'hits'>): void {
		const id = this.#search;
		if (id === null || search !== searchName(id) || this.#answer?.kind !== 'hits') return;
		this.#answer = { ...this.#answer, hits: [...this.#answer.hits, ...hits].slice(0, maxHits) };
		this.#post({ type: 'hits', id, hits, bytes, total });
	}

	#overview(): Overview {
		return {
			runs: this.#options.runs().map((run): QueryRun => ({ ...run, progress: this.#progress.get(run.folder) ?? null })),
			components: [...this.#components],
			fault: this.#fault?.toJSON() ?? null,
			remark: this.#remark,
		};
	}

	#sendSnapshot(): void {
		if (!this.#listening) return;
		const wanted = this.#wanted;
		this.#wanted = null;
		this.#post({
			type: 'snapshot',
			...this.#overview(),
			answer: this.#answer,
			busy: this.#busy,
			wanted: wanted === null ? null : { sql: wanted.sql ?? null, runs: wanted.runs ? [...wanted.runs] : null },
			history: [...this.#options.history.read()],
		});
	}

	#post(event: QueryEvent): void {
		if (this.#listening && !this.disposed) this.#options.post(event);
	}

	#schedule(): void {
		if (this.#timer !== null || this.disposed) return;
		this.#timer = setTimeout(async () => {
			if (this.#componentsStale && this.#fault === null && this.#listening) await this.#readComponents();
			this.#timer = null;
			this.#post({ type: 'overview', ...this.#overview() });
			if (this.#componentsStale && this.#fault === null && this.#listening) this.#schedule();
		}, this.#options.newsMs ?? 250);
	}

	/** Reads the reward components for the form. If this fails, queries can still be written in SQL. */
	async #readComponents(): Promise<void> {
		this.#componentsStale = false;
		const sql = 'SELECT DISTINCT name FROM reward_components WHERE name IS NOT NULL ORDER BY name';
		try {
			const { rows } = await this.#options.rolloutIndex.request('sql', { sql, limit: maxComponents });
			this.#components = rows.flatMap(([name]) => (typeof name === 'string' ? [name] : []));
		} catch {
			// Keep the previous components.
		}
	}
}

function searchName(id: number): string {
	return `query-${id}`;
}
