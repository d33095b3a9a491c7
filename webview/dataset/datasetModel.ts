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
import type { Panel } from '../lib/bridge.ts';
import { firstState, type SavedState, type Side } from './savedState.ts';

type Requests = typeof datasetRequests;

/** Extension interface used by the model. */
export type DatasetPort = Panel<DatasetCommand, Requests>;

/** Type of change: snapshot from the extension, loaded rows, open row, view settings, or row to reveal. */
export type DatasetChange = 'snapshot' | 'rows' | 'detail' | 'shown' | 'revealed';

/**
 * The open row. `detail` is null while it is loading or if loading failed, in which case `failure` contains the reason.
 */
export interface OpenRow {
	readonly row: number;
	/** Position among the filtered rows; null if it is unknown or the row is filtered out. */
	readonly index: number | null;
	readonly detail: DatasetRowDetail | null;
	readonly failure: string | null;
}

/** Filter and sort order of the rows. */
export type RequestedView = Pick<DatasetSnapshot['view'], 'filter' | 'sort'>;

const isSameView = (a: RequestedView | null, { filter, sort }: RequestedView): boolean =>
	a !== null && JSON.stringify([a.filter, a.sort]) === JSON.stringify([filter, sort]);

export const portionRows = 100;
const keptPortions = 40;

/** State of the dataset view: latest snapshot, loaded rows in the current view, and the open row. */
export class DatasetModel extends Disposable {
	readonly #port: DatasetPort;
	readonly #changed = this.register(new Emitter<DatasetChange>());
	readonly onChange = this.#changed.event;
	#state: SavedState;
	#snapshot: DatasetSnapshot | null = null;
	/** Requested view that no snapshot reflects yet; null if there is none. */
	#requested: RequestedView | null = null;
	readonly #portions = new Map<number, readonly ShownRow[]>();
	readonly #asked = new Set<string>();
	#open: OpenRow | null = null;
	/** Whether the saved state has yet to be applied. */
	#restores: boolean;
	/** Saved row to reopen after the saved column mapping has been applied. */
	#reopens: number | null = null;
	/** `number` of the last row revealed for a link or an agent. */
	#revealed = 0;

	constructor(port: DatasetPort, saved: SavedState = firstState) {
		super();
		this.#port = port;
		this.#state = saved;
		this.#restores = saved !== firstState;
	}

	/** null before the first snapshot. */
	get snapshot(): DatasetSnapshot | null {
		return this.#snapshot;
	}

	/** Latest requested filter and sort order, possibly not applied yet. null before the first snapshot. */
	get wanted(): RequestedView | null {
		return this.#requested ?? this.#snapshot?.view ?? null;
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
		if (before?.version !== snapshot.version || isSameView(this.#requested, snapshot.view)) this.#requested = null;
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
			// The row's details may have changed.
			else if (open !== null) void this.openRow(open.row, this.#snapshot.view.all ? open.row : null);
		}
		// Restore before the redraw, so that later filter changes start from the restored filter.
		if (this.#restores && snapshot.version > 0) this.#restore(snapshot);
		this.#changed.fire('snapshot');
		if (other && this.#open === null) this.#changed.fire('detail');
		this.#reveal(snapshot);
	}

	/** Opens the row that a link refers to, once it has been found in the file. */
	#reveal({ revealed, version, rows, complete, view }: DatasetSnapshot): void {
		if (revealed === null || revealed.number === this.#revealed || version === 0) return;
		if (revealed.row >= rows && !complete) return;
		this.#revealed = revealed.number;
		this.setSide('row');
		void this.openRow(revealed.row, view.all ? revealed.row : null);
		this.#changed.fire('revealed');
	}

	/** Applies the saved state after a window reload. */
	#restore({ columns, overlaps, view }: DatasetSnapshot): void {
		this.#restores = false;
		const { filter, sort, mapping, share, row } = this.#state;
		if (row !== null) {
			if (mapping !== null || share !== null) this.#reopens = row;
			else void this.openRow(row, view.all ? row : null);
		}
		if (mapping !== null) this.post({ type: 'map', mapping });
		if (share !== null) this.post({ type: 'share', share });
		// Test sets and pass rates are not saved, so filters on them cannot be restored.
		const wanted: RowFilter = overlaps === null ? { ...filter, overlaps: 'all' } : filter;
		const order = sort !== null && columns.some(({ name }) => name === sort.column) ? sort : null;
		if (order !== null || JSON.stringify(wanted) !== JSON.stringify(noFilter)) this.show(wanted, order);
	}

	/** Returns a row in the view. If it is not loaded yet, requests it and returns undefined. */
	row(index: number): ShownRow | undefined {
		const portion = Math.floor(index / portionRows);
		const rows = this.#portions.get(portion);
		if (rows === undefined) void this.#load(portion);
		return rows?.[index - portion * portionRows];
	}

	/** @param index position among the filtered rows, if known */
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

	/** Cycles the sort order of a column: descending, ascending, none. */
	sortBy(column: string): void {
		if (this.wanted === null) return;
		const { sort, filter } = this.wanted;
		this.show(
			filter,
			sort?.column !== column ? { column, descending: true } : sort.descending ? { column, descending: false } : null,
		);
	}

	/** Sends a command whose result is part of the saved state. */
	post(command: DatasetCommand): void {
		this.#port.post(command);
		if (command.type === 'show') {
			const { filter, sort } = command;
			this.#requested = { filter, sort };
			this.#set({ filter, sort });
		} else if (command.type === 'map') this.#set({ mapping: command.mapping });
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
			// Request the missing rows again.
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

	/** Discards the last portion, because it is incomplete after rows have been added. */
	forgetLast(): void {
		for (const [portion, rows] of this.#portions) if (rows.length < portionRows) this.#portions.delete(portion);
	}

	#set(change: Partial<SavedState>): void {
		this.#state = { ...this.#state, ...change };
		this.#changed.fire('shown');
	}
}
