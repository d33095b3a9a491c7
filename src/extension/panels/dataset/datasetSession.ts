import { Disposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import { parseDatasetRow } from '../../../core/dataset/datasetRows.ts';
import { type ColumnMapping, datasetColumns, guessMapping } from '../../../core/dataset/table/columnMapping.ts';
import { columnOrder } from '../../../core/dataset/table/columnOrder.ts';
import { rowDetail } from '../../../core/dataset/table/rowDetail.ts';
import { isOpen } from '../../../core/dataset/table/rowFilter.ts';
import { rolesOf } from '../../../core/dataset/table/rowRoles.ts';
import type { TableColumn } from '../../../core/dataset/table/tableColumns.ts';
import type { RowValue } from '../../../core/dataset/table/tableRow.ts';
import {
	type DatasetColumn,
	type DatasetRowDetail,
	type DatasetSnapshot,
	type DatasetStatistics,
	type DatasetWork,
	maxFindings,
	maxRowsAtOnce,
	noFilter,
	type RowFilter,
	type RowSort,
	type ShownRow,
} from '../../../protocol/datasetMessages.ts';
import type { DataTable, OnWalk } from '../../../runs/dataset/dataTable.ts';
import { exportRows, rowsOf } from '../../../runs/dataset/exportRows.ts';
import type { PassRates } from '../../../runs/dataset/passRates.ts';
import { sampleTable } from '../../../runs/dataset/sampleTable.ts';
import { openTests, type TestIndex, walkOverlaps } from '../../../runs/dataset/walkOverlaps.ts';
import { walkStatistics } from '../../../runs/dataset/walkStatistics.ts';
import { walkView } from '../../../runs/dataset/walkView.ts';
import { DatasetWorks } from './datasetWorks.ts';
import { passRateColumn, RowFacts } from './rowFacts.ts';

/** Maximum size of a file analyzed automatically, in bytes; larger files are analyzed on request. */
const largestUnasked = 64 << 20;

export interface DatasetSessionOptions {
	/** Display name of the file or task. */
	readonly label: string;
	readonly name: string;
	readonly open: () => Promise<DataTable>;
	readonly post: (snapshot: DatasetSnapshot) => void;
	/** Minimum interval between snapshots, in milliseconds, because progress updates are frequent. */
	readonly newsMs?: number;
}

/**
 * The state and behavior of a dataset editor, independent of VS Code: the table, the visible rows, and analysis
 * results. Long-running work reports progress and can be canceled; starting the same kind of work again cancels the
 * earlier run.
 */
export class DatasetSession extends Disposable {
	readonly #options: DatasetSessionOptions;
	readonly #works = new DatasetWorks(() => this.#soon());
	readonly #facts = new RowFacts(() => this.mapping);
	#table: DataTable | null = null;
	#version = 0;
	#failure: Failure | null = null;
	#opening: Promise<void> | null = null;
	/** Analysis started automatically. */
	#unasked: Promise<void> = Promise.resolve();
	#columns: readonly TableColumn[] = [];
	#guessed: ColumnMapping & { readonly because: readonly string[] } = noMapping;
	#chosen: ColumnMapping | null = null;
	#stale = false;
	#statistics: DatasetStatistics | null = null;
	#tests: readonly TestIndex[] = [];
	#ratedRows = 0;
	#viewNumber = 0;
	/** Number of the most recently requested view. */
	#asked = 0;
	#filter: RowFilter = noFilter;
	#sort: RowSort | null = null;
	/** Visible rows in order; null for all rows in file order. */
	#shown: readonly number[] | null = null;
	#notice: { text: string; isError: boolean } | null = null;
	#revealed: { readonly number: number; readonly row: number } | null = null;
	#awake = false;
	#timer: NodeJS.Timeout | null = null;

	constructor(options: DatasetSessionOptions) {
		super();
		this.#options = options;
		this.register({
			dispose: () => {
				if (this.#timer !== null) clearTimeout(this.#timer);
				const table = this.#table;
				void this.#works.abort().then(() => table?.close().catch(() => undefined));
			},
		});
	}

	get mapping(): ColumnMapping {
		return this.#chosen ?? this.#guessed;
	}

	get share(): number {
		return this.#facts.share;
	}

	/** Stamp of the table for detecting file changes; null if there is no table. */
	get stamp(): string | null {
		return this.#table?.stamp ?? null;
	}

	/** Paths of the test sets. */
	get tests(): readonly string[] {
		return this.#tests.map(({ path }) => path);
	}

	/** Number of rows in the view. */
	get shownRows(): number {
		return this.#shown?.length ?? this.#table?.rowCount ?? 0;
	}

	/** Called when the webview has started; sends it the complete state. */
	async begin(): Promise<void> {
		this.#awake = true;
		this.#opening ??= this.#open();
		await this.#opening;
		this.#post();
	}

	/** Resolves when no work is running. */
	async settled(): Promise<void> {
		await this.#opening;
		await this.#unasked;
		await this.#works.settled();
	}

	/** Reloads the file. */
	async again(): Promise<void> {
		await this.#opening;
		await this.#works.cancelAll();
		this.#opening = this.#open();
		await this.#opening;
		this.#post();
	}

	/** Whether the visible rows might differ from the file on disk. */
	get stale(): boolean {
		return this.#stale;
	}

	/** Marks the rows as stale because the file was written to. */
	markStale(): void {
		if (this.#stale) return;
		this.#stale = true;
		this.#soon();
	}

	cancel(what: DatasetWork): Promise<void> {
		return this.#works.cancel(what);
	}

	/** Sets the filter and sort order of the view, first computing the analysis results the filter needs. */
	async show(filter: RowFilter, sort: RowSort | null): Promise<void> {
		this.#filter = filter;
		this.#sort = sort;
		this.#soon();
		const asked = ++this.#asked;
		await this.cancel('view');
		if (asked !== this.#asked) return;
		if (isOpen(filter) && sort === null) {
			this.#take(null);
			return;
		}
		if (filter.duplicates !== 'all' && this.#statistics === null) await this.computeStatistics();
		if (asked !== this.#asked) return;
		await this.#work('view', async (table, signal, onWalk) => {
			const shown = await walkView(table, filter, sort, {
				marks: (row, value) => this.#facts.marks(row, value),
				complete: (value) => this.#facts.completed(value),
				signal,
				onWalk,
			});
			if (asked === this.#asked) this.#take(shown);
		});
	}

	/** @param mapping null for the detected mapping */
	async map(mapping: ColumnMapping | null): Promise<void> {
		this.#chosen = mapping;
		await this.#found();
	}

	async setShare(share: number): Promise<void> {
		this.#facts.share = share;
		await this.#found();
	}

	computeStatistics(): Promise<void> {
		return this.#work('statistics', async (table, signal, onWalk) => {
			const { statistics, repeats } = await walkStatistics(table, this.mapping, this.#facts.share, { signal, onWalk });
			this.#statistics = statistics;
			this.#facts.repeats = repeats;
			// Redraw the visible rows with their marks.
			this.#viewNumber++;
		});
	}

	/**
	 * Compares the rows with additional test sets. Failures are thrown so that they appear where the sets were chosen.
	 */
	async addTests(paths: readonly string[]): Promise<void> {
		const more: TestIndex[] = [];
		for (const path of paths) if (!this.tests.includes(path)) more.push(await openTests(path));
		this.#tests = [...this.#tests, ...more];
		await this.#findOverlaps();
	}

	async removeTests(): Promise<void> {
		await this.cancel('overlaps');
		this.#tests = [];
		this.#facts.overlaps = null;
		if (this.#filter.overlaps !== 'all') await this.show({ ...this.#filter, overlaps: 'all' }, this.#sort);
		this.#soon();
	}

	/** Sets the pass rates for sorting and filtering rows; null removes them. */
	async setPassRates(rates: PassRates | null): Promise<void> {
		this.#facts.rates = rates;
		this.#ratedRows = 0;
		if (rates === null) {
			const conditions = this.#filter.conditions.filter(({ column }) => column !== passRateColumn);
			await this.show({ ...this.#filter, conditions }, this.#sort?.column === passRateColumn ? null : this.#sort);
			return;
		}
		await this.#work('difficulty', async (table, signal, onWalk) => {
			let rated = 0;
			for await (const { value } of table.scan(signal, onWalk)) {
				if (value !== null && this.#facts.rateOf(value) !== null) rated++;
			}
			this.#ratedRows = rated;
		});
		if (!isOpen(this.#filter) || this.#sort !== null) await this.show(this.#filter, this.#sort);
	}

	/**
	 * Writes the rows in the view as JSONL, in view order, including pass rates if available. Fails with `exists`,
	 * `denied`, `full`, or `cancelled`.
	 */
	async exportTo(path: string, replace: boolean): Promise<{ rows: number; bytes: number; leftOut: number }> {
		await this.#works.ended('view');
		let result = { rows: 0, bytes: 0, leftOut: 0 };
		await this.#attempt('export', async (table, signal, onWalk) => {
			const line = (value: RowValue): RowValue => this.#facts.exported(value);
			result = { ...(await exportRows(table, this.#shown, path, { replace, line, signal, onWalk })) };
		});
		return result;
	}

	/** Key that changes whenever the rows in the view, their order, or the column mapping change. */
	get viewIdentity(): string {
		const { prompt, answer, solution, preset } = this.mapping;
		return JSON.stringify([prompt, answer, solution, preset, this.#filter, this.#sort, this.#facts.share, this.tests]);
	}

	/**
	 * Writes the prompts and answers of the rows in the view to the columns that evaluations expect.
	 * @returns the number of rows with both a prompt and an answer
	 */
	async exportProblems(path: string): Promise<number> {
		let problems = 0;
		await this.#attempt('export', async (table, signal, onWalk) => {
			const line = (value: RowValue): RowValue | null => {
				const { prompt, answer } = rolesOf(value, this.mapping);
				return prompt === null || answer === null ? null : { prompt, answer };
			};
			problems = (await exportRows(table, this.#shown, path, { replace: true, line, signal, onWalk })).rows;
		});
		return problems;
	}

	say(text: string, isError = false): void {
		this.#notice = { text, isError };
		this.#soon();
	}

	/** Row most recently opened by a command; `number` increases each time. Null if there is none. */
	get revealed(): { readonly number: number; readonly row: number } | null {
		return this.#revealed;
	}

	/** Opens a row in the webview as soon as the row is loaded. */
	revealRow(row: number): void {
		this.#revealed = { number: (this.#revealed?.number ?? 0) + 1, row };
		this.#soon();
	}

	/** Prevents a restarted page from opening the `revealed` row again. */
	forgetRevealed(): void {
		this.#revealed = null;
	}

	forgetNotice(): void {
		this.#notice = null;
	}

	/** Returns truncated rows from the view. Fails with `mismatch` if the version or view is no longer current. */
	async rows(version: number, view: number, from: number, to: number): Promise<{ rows: ShownRow[] }> {
		const table = this.#present(version);
		if (view !== this.#viewNumber) throw new Failure('mismatch', 'The visible rows have changed in the meantime.');
		const end = Math.min(to, from + maxRowsAtOnce);
		const rows = this.#shown === null ? await table.rows(from, end) : await rowsOf(table, this.#shown.slice(from, end));
		const columns = this.#shownColumns();
		return { rows: rows.map((row) => this.#facts.shown(row, columns)) };
	}

	/** Returns one row of the file. */
	async row(version: number, row: number): Promise<DatasetRowDetail> {
		const table = this.#present(version);
		const [read] = await table.rows(row, row + 1);
		if (read === undefined) throw new Failure('missing', `Row ${row + 1} does not exist.`);
		const { value, fault } = read;
		const finding = this.#facts.overlaps?.get(row);
		const detail = {
			row,
			fault,
			refused: null,
			findings: finding === undefined ? [] : [finding],
			repeats: this.#facts.repeats.get(row) ?? null,
			heldOut: false,
			parts: [],
		};
		if (value === null) return detail;
		const parsed = parseDatasetRow(value, row + 1, datasetColumns(this.mapping));
		return {
			...detail,
			refused: parsed.kind === 'fault' ? parsed.fault.message : null,
			heldOut: this.#facts.isHeldOut(value),
			parts: rowDetail(this.#facts.completed(value), this.mapping),
		};
	}

	#present(version: number): DataTable {
		if (this.#table === null || version !== this.#version) {
			throw new Failure('mismatch', 'The file was reloaded in the meantime.');
		}
		return this.#table;
	}

	async #open(): Promise<void> {
		const before = this.#table;
		this.#table = null;
		this.#stale = false;
		this.#failure = null;
		this.#statistics = null;
		this.#facts.repeats = new Map();
		this.#facts.overlaps = null;
		await before?.close().catch(() => undefined);
		let table: DataTable;
		try {
			table = await this.#options.open();
			if (this.disposed) {
				await table.close();
				return;
			}
			const { columns, values } = await sampleTable(table);
			this.#columns = columns;
			this.#guessed = guessMapping(columns, values);
		} catch (error) {
			this.#failure = Failure.from(error, `Cannot read ${this.#options.name}`);
			return;
		}
		this.#table = table;
		this.#version++;
		this.#viewNumber++;
		this.#shown = null;
		this.#unasked = this.#goThrough();
	}

	async #goThrough(): Promise<void> {
		await this.#work('index', (table, signal, onWalk) => table.index(signal, onWalk));
		const table = this.#table;
		if (table === null || !table.complete) return;
		if (table.size === null || table.size <= largestUnasked) await this.computeStatistics();
		if (this.#tests.length > 0) await this.#findOverlaps();
		if (!isOpen(this.#filter) || this.#sort !== null) await this.show(this.#filter, this.#sort);
	}

	/** Recomputes existing analysis results after the column mapping or held-out fraction changes. */
	async #found(): Promise<void> {
		const known = this.#statistics !== null || this.#works.has('statistics');
		this.#statistics = null;
		this.#facts.repeats = new Map();
		this.#viewNumber++;
		this.#soon();
		if (known) await this.computeStatistics();
		if (this.#tests.length > 0) await this.#findOverlaps();
		if (this.#facts.rates !== null) await this.setPassRates(this.#facts.rates);
		else if (!isOpen(this.#filter)) await this.show(this.#filter, this.#sort);
	}

	async #findOverlaps(): Promise<void> {
		await this.#work('overlaps', async (table, signal, onWalk) => {
			this.#facts.overlaps = await walkOverlaps(table, this.mapping, this.#tests, { signal, onWalk });
			// Redraw the visible rows with their marks.
			this.#viewNumber++;
		});
		if (this.#filter.overlaps !== 'all') await this.show(this.#filter, this.#sort);
	}

	#take(shown: readonly number[] | null): void {
		this.#shown = shown;
		this.#viewNumber++;
		this.#soon();
	}

	/** Same as {@link #attempt}, but shows failures in the view. */
	async #work(what: DatasetWork, task: Task): Promise<void> {
		try {
			await this.#attempt(what, task);
		} catch (error) {
			const failure = Failure.from(error);
			if (failure.reason !== 'cancelled' && !this.disposed) this.say(failure.toString(), true);
		}
	}

	async #attempt(what: DatasetWork, task: Task): Promise<void> {
		while (this.#works.has(what)) await this.cancel(what);
		const table = this.#table;
		if (table === null || this.disposed) return;
		await this.#works.run(what, (signal, onWalk) => task(table, signal, onWalk));
	}

	#shownColumns(): DatasetColumn[] {
		const columns = columnOrder(this.#columns, this.mapping).map((column) => ({ ...column, computed: false }));
		if (this.#facts.rates === null) return columns;
		return [{ name: passRateColumn, type: 'number', length: 5, computed: true }, ...columns];
	}

	#soon(): void {
		if (this.#timer !== null || this.disposed) return;
		this.#timer = setTimeout(() => {
			this.#timer = null;
			this.#post();
		}, this.#options.newsMs ?? 120);
	}

	#post(): void {
		if (!this.#awake || this.disposed) return;
		const table = this.#table;
		const { prompt, answer, solution, preset } = this.mapping;
		const findings = this.#facts.overlaps;
		this.#options.post({
			type: 'snapshot',
			label: this.#options.label,
			name: this.#options.name,
			format: table?.format ?? '',
			size: table?.size ?? null,
			version: table === null ? 0 : this.#version,
			stale: this.#stale,
			failure: this.#failure && { message: this.#failure.message, action: this.#failure.action ?? null },
			rows: table?.rowCount ?? 0,
			complete: table?.complete ?? false,
			columns: this.#shownColumns(),
			mapping: { prompt, answer, solution, preset },
			because: this.#chosen === null ? [...this.#guessed.because] : [],
			usable: table !== null && (table.format === 'task' || prompt !== null),
			statistics: this.#statistics,
			view: {
				number: this.#viewNumber,
				filter: this.#filter,
				sort: this.#sort,
				rows: this.shownRows,
				all: this.#shown === null,
			},
			tests: this.#tests.map(({ name, rows, tooShort }) => ({ name, rows, tooShort })),
			overlaps: findings && { rows: findings.size, findings: [...findings.values()].slice(0, maxFindings) },
			difficulty: this.#facts.rates && {
				name: this.#facts.rates.name,
				rows: this.#ratedRows,
				questions: this.#facts.rates.questions,
			},
			works: this.#works.progress,
			notice: this.#notice,
			revealed: this.#revealed,
		});
	}
}

type Task = (table: DataTable, signal: AbortSignal, onWalk: OnWalk) => Promise<void>;

const noMapping = { prompt: null, answer: null, solution: null, preset: null, because: [] } as const;
