import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { columnsOf, type RunColumn, type RunColumns } from '../../src/core/runTable/runColumns.ts';
import { parseRunFilter } from '../../src/core/runTable/runFilter.ts';
import { groupRuns, type RunGroup, type RunGrouping } from '../../src/core/runTable/runGroups.ts';
import { sortRuns } from '../../src/core/runTable/runOrder.ts';
import type { RunTableEvent, RunTableRow } from '../../src/protocol/runTableMessages.ts';
import { initialState, type SavedState } from './savedState.ts';

/** A row of the table: a run or a group. */
export type Line =
	| { readonly kind: 'run'; readonly row: RunTableRow; readonly inGroup: boolean }
	| { readonly kind: 'group'; readonly group: RunGroup; readonly expanded: boolean };

/** Runs, settings, and the resulting table rows. */
export class RunTableModel extends Disposable {
	readonly #changed = this.register(new Emitter<void>());
	readonly #rows = new Map<string, RunTableRow>();
	readonly #selected = new Set<string>();
	#state: SavedState;
	#pending = 0;
	#loaded = false;
	#columns: RunColumns = columnsOf([]);
	#lines: readonly Line[] = [];
	#count = 0;
	#fault: string | null = null;
	readonly onChange = this.#changed.event;

	constructor(state: SavedState | undefined) {
		super();
		this.#state = state ?? initialState;
	}

	get state(): SavedState {
		return this.#state;
	}

	/** Whether the first rows have arrived. */
	get loaded(): boolean {
		return this.#loaded;
	}

	/** Number of runs whose recipe and metrics are still being read. */
	get pending(): number {
		return this.#pending;
	}

	get lines(): readonly Line[] {
		return this.#lines;
	}

	/** Number of runs that match the filter. */
	get count(): number {
		return this.#count;
	}

	get total(): number {
		return this.#rows.size;
	}

	/** Number of runs in other folders. */
	get others(): number {
		return [...this.#rows.values()].filter(({ own }) => !own).length;
	}

	get columns(): ReadonlyMap<string, RunColumn> {
		return this.#columns.all;
	}

	/** Selected columns that at least one run has. */
	get shown(): RunColumn[] {
		return (this.#state.columns ?? this.#columns.usual).flatMap((id) => this.#columns.all.get(id) ?? []);
	}

	/** Why part of the filter has no effect. */
	get fault(): string | null {
		return this.#fault;
	}

	/** Folders of the selected runs that are still listed. */
	get selected(): string[] {
		return [...this.#selected].filter((folder) => this.#rows.has(folder));
	}

	isSelected(folder: string): boolean {
		return this.#selected.has(folder);
	}

	receive(event: RunTableEvent): void {
		if (event.type === 'rows') this.#rows.clear();
		else for (const folder of event.removed) this.#rows.delete(folder);
		for (const row of event.rows) this.#rows.set(row.folder, row);
		this.#pending = event.pending;
		this.#loaded = true;
		this.#columns = columnsOf([...this.#rows.values()]);
		this.#arrange();
	}

	/**
	 * Sorts by a column. The initial order is ascending for text and descending for numbers and times; repeated calls
	 * reverse it.
	 */
	sortBy(column: string): void {
		const { sort } = this.#state;
		const kind = this.#columns.all.get(column)?.kind;
		const first = kind === 'metric' || column === 'created' || column === 'step';
		this.set({ sort: { column, descending: sort?.column === column ? !sort.descending : first } });
	}

	set(changes: Partial<SavedState>): void {
		this.#state = { ...this.#state, ...changes };
		this.#arrange();
	}

	setGrouping(grouping: RunGrouping): void {
		this.set({ grouping, expanded: [] });
	}

	toggleGroup(key: string): void {
		const { expanded } = this.#state;
		const open = expanded.includes(key);
		this.set({ expanded: open ? expanded.filter((other) => other !== key) : [...expanded, key].slice(-400) });
	}

	toggleColumn(id: string): void {
		// Keep columns that no run has yet.
		const shown = this.#state.columns ?? this.#columns.usual;
		const columns = shown.includes(id) ? shown.filter((other) => other !== id) : [...shown, id];
		// Without the name, the rows could not be identified.
		this.set({ columns: columns.includes('name') ? columns : ['name', ...columns] });
	}

	toggleSelected(folders: readonly string[]): void {
		const all = folders.every((folder) => this.#selected.has(folder));
		for (const folder of folders) {
			if (all) this.#selected.delete(folder);
			else this.#selected.add(folder);
		}
		this.#changed.fire();
	}

	#arrange(): void {
		const { sort, filter, grouping, expanded, others } = this.#state;
		const { test, fault } = parseRunFilter(filter, this.#columns.all.values());
		const passing = [...this.#rows.values()].filter((row) => (row.own || others) && test(row));
		const column = this.#columns.all.get(sort?.column ?? '');
		const rows = column === undefined ? passing : sortRuns(passing, column, sort?.descending ?? false);
		this.#fault = fault;
		this.#count = rows.length;
		this.#lines =
			grouping === 'none'
				? rows.map((row) => ({ kind: 'run', row, inGroup: false }))
				: groupRuns(rows, grouping).flatMap((group): Line[] => {
						const open = expanded.includes(group.key);
						const members = group.rows.map((row): Line => ({ kind: 'run', row, inGroup: true }));
						return [{ kind: 'group', group, expanded: open }, ...(open ? members : [])];
					});
		this.#changed.fire();
	}
}
