import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import { formatBytes, formatCounted } from '../../src/base/format.ts';
import {
	type Answer,
	maxHits,
	maxRows,
	type QueryEvent,
	type QueryRun,
	type Question,
} from '../../src/protocol/queryMessages.ts';
import type { RolloutRef } from '../../src/protocol/rolloutIndex.ts';
import type { TableExport } from '../../src/protocol/tableExport.ts';
import { filterOf, sqlOf } from './formSql.ts';
import { hitsCsv } from './hitsCsv.ts';
import { type FormColumn, formColumns, type QueryForm } from './queryForm.ts';
import type { Busy, Fault, HistogramState, Notice, QueryChange, QueryPort } from './queryState.ts';
import { chartOf } from './resultChart.ts';
import { type ChartChoice, firstState, type Mode, type SavedState } from './savedState.ts';
import { histogramOf, histogramSql, sortedSql } from './statements.ts';

/** State of the query view. */
export class QueryModel extends Disposable {
	readonly #port: QueryPort;
	readonly #changed = this.register(new Emitter<QueryChange>());
	readonly onChange = this.#changed.event;
	#state: SavedState;
	/** Last request id. Starts at a random number, because requests made before a page reload may still be pending. */
	#lastId = Math.floor(Math.random() * 2 ** 40);
	#known = false;
	#runs: readonly QueryRun[] = [];
	#components: readonly string[] = [];
	#columns: readonly FormColumn[] = formColumns([]);
	#fault: Fault | null = null;
	#remark: string | null = null;
	#history: readonly string[] = [];
	#answer: Answer | null = null;
	#busy: Busy | null = null;
	#histogram: HistogramState | null = null;
	#histogramId = 0;
	#notice: Notice | null = null;

	constructor(port: QueryPort, saved: SavedState = firstState) {
		super();
		this.#port = port;
		this.#state = saved;
	}

	/** Whether the panel has sent its overview. */
	get known(): boolean {
		return this.#known;
	}

	get runs(): readonly QueryRun[] {
		return this.#runs;
	}

	/** Columns available in the form. */
	get columns(): readonly FormColumn[] {
		return this.#columns;
	}

	get fault(): Fault | null {
		return this.#fault;
	}

	get remark(): string | null {
		return this.#remark;
	}

	get history(): readonly string[] {
		return this.#history;
	}

	get mode(): Mode {
		return this.#state.mode;
	}

	get form(): QueryForm {
		return this.#state.form;
	}

	get sql(): string {
		return this.#state.sql;
	}

	/** Selected run folders; null selects all runs. */
	get chosen(): readonly string[] | null {
		return this.#state.runs;
	}

	get answer(): Answer | null {
		return this.#answer;
	}

	get busy(): Busy | null {
		return this.#busy;
	}

	get histogram(): HistogramState | null {
		return this.#histogram;
	}

	get notice(): Notice | null {
		return this.#notice;
	}

	get saved(): SavedState {
		return this.#state;
	}

	/** SQL statement for the form. */
	get formStatement(): string {
		return sqlOf(this.form, this.chosen, this.#columns);
	}

	/** Statement that produced the result; null for a text search or without a result. */
	get statement(): string | null {
		const question = this.#answer?.question;
		return question?.kind === 'sql' ? sortedSql(question.sql, question.sort) : null;
	}

	setMode(mode: Mode): void {
		this.#set({ mode });
	}

	setForm(change: Partial<QueryForm>): void {
		this.#set({ form: { ...this.form, ...change } });
	}

	setSql(sql: string): void {
		this.#set({ sql });
	}

	chooseRuns(runs: readonly string[] | null): void {
		this.#set({ runs: runs === null ? null : [...runs] });
	}

	/** Opens the form's statement in the editor. */
	editStatement(): void {
		this.#set({ mode: 'sql', sql: this.formStatement });
	}

	receive(event: QueryEvent): void {
		switch (event.type) {
			case 'snapshot':
				this.#takeOverview(event);
				this.#history = event.history;
				this.#answer = event.answer;
				this.#busy = event.busy === null ? null : this.#work(event.busy, event.answer?.kind === 'hits');
				this.#known = true;
				if (event.wanted) this.#want(event.wanted);
				else this.#resume();
				this.#changed.fire('overview');
				this.#changed.fire('busy');
				this.#changed.fire('answer');
				break;
			case 'overview':
				this.#takeOverview(event);
				this.#changed.fire('overview');
				break;
			case 'hits':
				if (this.#busy?.id !== event.id || this.#answer?.kind !== 'hits') break;
				this.#answer = { ...this.#answer, hits: [...this.#answer.hits, ...event.hits].slice(0, maxHits) };
				this.#busy = { ...this.#busy, bytes: event.bytes, total: event.total };
				this.#changed.fire('hits');
				break;
		}
	}

	/** Runs the query in the form or the editor. */
	ask(): void {
		const { mode, form } = this;
		if (mode === 'form' && form.text !== '') {
			const { text, regex, caseSensitive } = form;
			const filter = filterOf(form, this.chosen, this.#columns);
			void this.#search({ kind: 'search', query: { pattern: text, regex, caseSensitive }, filter });
			return;
		}
		const sql = mode === 'form' ? this.formStatement : this.sql;
		if (sql.trim() !== '') void this.#run({ kind: 'sql', sql, sort: null });
	}

	/** Cycles the sort order of a result column: descending, ascending, none. */
	sortBy(column: string): void {
		const question = this.#answer?.question;
		if (question?.kind !== 'sql') return;
		const { sort } = question;
		const next =
			sort?.column !== column ? { column, descending: true } : sort.descending ? { column, descending: false } : null;
		void this.#run({ ...question, sort: next });
	}

	cancel(): void {
		if (this.#busy) this.#port.post({ type: 'cancel', id: this.#busy.id });
	}

	/** Result columns to show in the chart; null hides it. */
	get chart(): ChartChoice | null {
		return chartOf(this.#answer, this.#state.chart);
	}

	showChart(choice: ChartChoice | null): void {
		this.#set({ chart: choice });
		this.#changed.fire('answer');
	}

	/** @param column result column; null hides the histogram */
	showHistogram(column: string | null): void {
		this.#set({ histogram: column });
		void this.#countHistogram();
	}

	async export(format: TableExport): Promise<void> {
		const { answer, statement } = this;
		if (answer === null || this.#busy !== null) return;
		if (answer.kind === 'hits') {
			await this.#saveHits(answer.hits);
			return;
		}
		if (statement === null) return;
		const busy = this.#begin('export');
		try {
			const { saved, rows, bytes } = await this.#port.request('export', {
				id: busy.id,
				statement,
				format,
				name: `rollouts.${format}`,
			});
			this.#end(busy);
			if (saved) this.#say(`Saved ${formatCounted(rows, 'row')}, ${formatBytes(bytes)}.`);
		} catch (error) {
			this.#end(busy);
			this.#sayFailure(error);
		}
	}

	open(ref: RolloutRef): void {
		this.#port.request('open', { ref }).catch((error: unknown) => this.#sayFailure(error));
	}

	addRuns(): void {
		this.#port.post({ type: 'addRuns' });
	}

	forgetNotice(): void {
		this.#notice = null;
		this.#changed.fire('notice');
	}

	async #saveHits(hits: Extract<Answer, { kind: 'hits' }>['hits']): Promise<void> {
		try {
			const { saved } = await this.#port.request('save', { name: 'hits.csv', text: hitsCsv(hits) });
			if (saved) this.#say(`Saved ${formatCounted(hits.length, 'hit')}.`);
		} catch (error) {
			this.#sayFailure(error);
		}
	}

	async #run(question: Extract<Question, { kind: 'sql' }>): Promise<void> {
		const busy = this.#begin('sql');
		this.#set({ question });
		const statement = sortedSql(question.sql, question.sort);
		try {
			const table = await this.#port.request('run', { id: busy.id, question, statement, limit: maxRows });
			if (!this.#end(busy)) return;
			this.#answer = { kind: 'table', question, table };
			const sql = question.sql.trim();
			this.#history = [sql, ...this.#history.filter((other) => other !== sql)].slice(0, 50);
		} catch (error) {
			if (!this.#end(busy)) return;
			const failure = Failure.from(error);
			// The request was canceled, so keep the previous result.
			if (failure.reason === 'cancelled') return;
			this.#answer = { kind: 'failure', question, failure: failure.toJSON() };
		}
		this.#changed.fire('answer');
		const { histogram } = this.#state;
		const columns = this.#answer.kind === 'table' ? this.#answer.table.columns : [];
		if (histogram !== null && !columns.some(({ name }) => name === histogram)) this.#set({ histogram: null });
		void this.#countHistogram();
	}

	async #search(question: Extract<Question, { kind: 'search' }>): Promise<void> {
		const busy = this.#begin('search');
		this.#set({ question, histogram: null });
		this.#histogram = null;
		this.#answer = { kind: 'hits', question, hits: [], end: null };
		this.#changed.fire('answer');
		try {
			const end = await this.#port.request('search', { id: busy.id, question });
			if (!this.#end(busy) || this.#answer?.kind !== 'hits') return;
			this.#answer = { ...this.#answer, end };
		} catch (error) {
			if (!this.#end(busy)) return;
			const failure = Failure.from(error);
			if (failure.reason !== 'cancelled') {
				if (this.#answer?.kind === 'hits' && this.#answer.hits.length > 0) this.#sayFailure(failure);
				else this.#answer = { kind: 'failure', question, failure: failure.toJSON() };
			}
		}
		this.#changed.fire('answer');
	}

	async #countHistogram(): Promise<void> {
		const { histogram: column } = this.#state;
		const { statement } = this;
		this.#histogramId = this.#nextId();
		const id = this.#histogramId;
		if (column === null || statement === null || this.#answer?.kind !== 'table') {
			this.#histogram = null;
			this.#changed.fire('histogram');
			return;
		}
		this.#histogram = { column, made: null, failure: null };
		this.#changed.fire('histogram');
		try {
			const counts = histogramSql(statement, column);
			const { rows } = await this.#port.request('side', { id, statement: counts, limit: maxRows });
			if (this.#histogramId !== id) return;
			this.#histogram = { column, made: histogramOf(rows), failure: null };
		} catch (error) {
			if (this.#histogramId !== id) return;
			this.#histogram = { column, made: null, failure: Failure.from(error).toJSON() };
		}
		this.#changed.fire('histogram');
	}

	/** Reruns the statement after a window reload. A text search is not rerun automatically. */
	#resume(): void {
		const { question } = this.#state;
		if (this.#answer !== null) void this.#countHistogram();
		else if (question?.kind === 'sql' && this.#busy === null && this.#fault === null && this.#runs.length > 0) {
			void this.#run(question);
		}
	}

	#want({ sql, runs }: { readonly sql: string | null; readonly runs: readonly string[] | null }): void {
		this.#set({ runs: runs === null ? null : [...runs], ...(sql === null ? {} : { mode: 'sql', sql }) });
		if (sql !== null) this.ask();
	}

	#takeOverview({ runs, components, fault, remark }: Extract<QueryEvent, { type: 'overview' | 'snapshot' }>): void {
		this.#runs = runs;
		this.#fault = fault;
		this.#remark = remark;
		if (JSON.stringify(components) !== JSON.stringify(this.#components)) {
			this.#components = components;
			this.#columns = formColumns(components);
		}
		// Deselect runs that no longer exist.
		const folders = new Set(runs.map(({ folder }) => folder));
		if (this.chosen?.some((folder) => !folders.has(folder)) && runs.length > 0) {
			this.#set({ runs: this.chosen.filter((folder) => folders.has(folder)) });
		}
	}

	#nextId(): number {
		this.#lastId += 1;
		return this.#lastId;
	}

	#work(id: number, isSearch: boolean): Busy {
		return { id, what: isSearch ? 'search' : 'sql', since: performance.now(), bytes: 0, total: 0 };
	}

	#begin(what: Busy['what']): Busy {
		if (this.#busy !== null) this.#port.post({ type: 'cancel', id: this.#busy.id });
		const busy = { ...this.#work(this.#nextId(), false), what };
		this.#busy = busy;
		this.forgetNotice();
		this.#changed.fire('busy');
		return busy;
	}

	/** @returns whether the request was still the current one */
	#end(busy: Busy): boolean {
		if (this.#busy?.id !== busy.id) return false;
		this.#busy = null;
		this.#changed.fire('busy');
		return true;
	}

	#say(text: string, isError = false): void {
		this.#notice = { text, isError };
		this.#changed.fire('notice');
	}

	#sayFailure(error: unknown): void {
		const failure = Failure.from(error);
		if (failure.reason !== 'cancelled') this.#say(failure.toString(), true);
	}

	#set(change: Partial<SavedState>): void {
		this.#state = { ...this.#state, ...change };
		this.#changed.fire('question');
	}
}
