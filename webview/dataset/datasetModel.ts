import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import {
	type DatasetCommand,
	type DatasetRowDetail,
	type DatasetSnapshot,
	type datasetRequests,
	noFilter,
	type RowFilter,
	type RowSort,
	type ShownRow,
} from '../../src/protocol/datasetMessages.ts';
import type { RequestParams, RequestResult } from '../../src/protocol/webviewMessages.ts';
import { firstState, type SavedState, type Side } from './savedState.ts';

type Requests = typeof datasetRequests;

/** The way to the editor. */
export interface DatasetPort {
	request<M extends keyof Requests & string>(
		method: M,
		params: RequestParams<Requests, M>,
	): Promise<RequestResult<Requests, M>>;
	post(command: DatasetCommand): void;
}

/** What changed: what the editor told, rows that came, the row that is looked at, or how it is shown. */
export type DatasetChange = 'snapshot' | 'rows' | 'detail' | 'shown';

/** A row that is looked at. `detail` null: it is on its way, or `failure` says why not. */
export interface OpenRow {
	readonly row: number;
	/** Its place among the rows shown; null: it may not be one of them. */
	readonly index: number | null;
	readonly detail: DatasetRowDetail | null;
	readonly failure: string | null;
}

export const portionRows = 100;
const keptPortions = 40;

/** What the dataset view knows: the last snapshot, the rows that it was given of the present view, and the open one. */
export class DatasetModel extends Disposable {
	readonly #port: DatasetPort;
	readonly #changed = this.register(new Emitter<DatasetChange>());
	readonly onChange = this.#changed.event;
	#state: SavedState;
	#snapshot: DatasetSnapshot | null = null;
	readonly #portions = new Map<number, readonly ShownRow[]>();
	readonly #asked = new Set<string>();
	#open: OpenRow | null = null;
	/** What was saved still has to be asked for. */
	#restores: boolean;
	/** A saved row that is opened once its columns are read as they were chosen. */
	#reopens: number | null = null;

	constructor(port: DatasetPort, saved: SavedState = firstState) {
		super();
		this.#port = port;
		this.#state = saved;
		this.#restores = saved !== firstState;
	}

	/** null: the editor has not answered yet. */
	get snapshot(): DatasetSnapshot | null {
		return this.#snapshot;
	}

	get open(): OpenRow | null {
		return this.#open;
	}

	get saved(): SavedState {
		return this.#state;
	}

	receive(snapshot: DatasetSnapshot): void {
		const before = this.#snapshot;
		this.#snapshot = snapshot;
		const other = before?.version !== snapshot.version || before.view.number !== snapshot.view.number;
		if (other) {
			this.#portions.clear();
			this.#asked.clear();
			const open = this.#open;
			if (this.#reopens !== null) {
				const row = this.#reopens;
				this.#reopens = null;
				void this.openRow(row, snapshot.view.all ? row : null);
			} else if (before !== null && before.version !== snapshot.version) {
				this.#open = null;
				if (this.#state.row !== null) this.#set({ row: null });
			}
			// What is known of the row may be more by now.
			else if (open !== null) void this.openRow(open.row, this.#snapshot.view.all ? open.row : null);
		}
		this.#changed.fire('snapshot');
		if (other && this.#open === null) this.#changed.fire('detail');
		if (this.#restores && snapshot.version > 0) this.#restore(snapshot);
	}

	/** The editor knows nothing of what was shown before the window was reloaded. */
	#restore({ columns, overlaps, view }: DatasetSnapshot): void {
		this.#restores = false;
		const { filter, sort, mapping, share, row } = this.#state;
		if (row !== null) {
			if (mapping !== null || share !== null) this.#reopens = row;
			else void this.openRow(row, view.all ? row : null);
		}
		if (mapping !== null) this.post({ type: 'map', mapping });
		if (share !== null) this.post({ type: 'share', share });
		// Test sets and pass rates are not kept: what was shown by them cannot be.
		const wanted: RowFilter = overlaps === null ? { ...filter, overlaps: 'all' } : filter;
		const order = sort !== null && columns.some(({ name }) => name === sort.column) ? sort : null;
		if (order !== null || JSON.stringify(wanted) !== JSON.stringify(noFilter)) this.show(wanted, order);
	}

	/** A row of the view; undefined: it is not here yet, and is asked for. */
	row(index: number): ShownRow | undefined {
		const portion = Math.floor(index / portionRows);
		const rows = this.#portions.get(portion);
		if (rows === undefined) void this.#load(portion);
		return rows?.[index - portion * portionRows];
	}

	/** @param index its place among the rows shown, where that is known */
	async openRow(row: number, index: number | null): Promise<void> {
		const version = this.#snapshot?.version ?? 0;
		const again = this.#open?.row === row ? this.#open.detail : null;
		this.#open = { row, index, detail: again, failure: null };
		if (this.#state.row !== row) this.#set({ row });
		this.#changed.fire('detail');
		try {
			const detail = await this.#port.request('row', { version, row });
			if (this.#open?.row === row) this.#open = { ...this.#open, detail };
		} catch (error) {
			if (this.#open?.row === row) this.#open = { ...this.#open, failure: Failure.from(error).toString() };
		}
		this.#changed.fire('detail');
	}

	show(filter: RowFilter, sort: RowSort | null): void {
		this.post({ type: 'show', filter, sort });
	}

	/** By a column: falling, rising, as it was. */
	sortBy(column: string): void {
		const view = this.#snapshot?.view;
		if (view === undefined) return;
		const { sort, filter } = view;
		this.show(
			filter,
			sort?.column !== column ? { column, descending: true } : sort.descending ? { column, descending: false } : null,
		);
	}

	/** Sends a command; what it asks for outlives the window. */
	post(command: DatasetCommand): void {
		this.#port.post(command);
		if (command.type === 'show') this.#set({ filter: command.filter, sort: command.sort });
		else if (command.type === 'map') this.#set({ mapping: command.mapping });
		else if (command.type === 'share') this.#set({ share: command.share });
	}

	setSide(side: Side): void {
		this.#set({ side });
	}

	setWidth(column: string, width: number): void {
		this.#set({ widths: { ...this.#state.widths, [column]: Math.round(width) } });
	}

	async #load(portion: number): Promise<void> {
		const snapshot = this.#snapshot;
		if (snapshot === null || snapshot.version === 0) return;
		const { version, view } = snapshot;
		const key = `${version}:${view.number}:${portion}`;
		if (this.#asked.has(key)) return;
		this.#asked.add(key);
		try {
			const from = portion * portionRows;
			const { rows } = await this.#port.request('rows', { version, view: view.number, from, to: from + portionRows });
			const now = this.#snapshot;
			if (now?.version !== version || now.view.number !== view.number) return;
			// Rows that were not known yet are asked for again.
			if (rows.length < portionRows) this.#asked.delete(key);
			if (rows.length === 0) return;
			this.#portions.set(portion, rows);
			if (this.#portions.size > keptPortions) {
				const oldest = this.#portions.keys().next().value as number;
				this.#portions.delete(oldest);
				this.#asked.delete(`${version}:${view.number}:${oldest}`);
			}
			this.#changed.fire('rows');
		} catch (error) {
			this.#asked.delete(key);
			const { reason, message } = Failure.from(error);
			if (reason !== 'mismatch' && reason !== 'cancelled') this.#port.post({ type: 'fault', message });
		}
	}

	/** A portion that ended where the rows did is whole no more once there are others. */
	forgetLast(): void {
		for (const [portion, rows] of this.#portions) if (rows.length < portionRows) this.#portions.delete(portion);
	}

	#set(change: Partial<SavedState>): void {
		this.#state = { ...this.#state, ...change };
		this.#changed.fire('shown');
	}
}
