import { Disposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted } from '../../src/base/format.ts';
import { type RunGrouping, runGroupings } from '../../src/core/runTable/runGroups.ts';
import { comparedRuns } from '../../src/protocol/comparedRuns.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { button, textField } from '../lib/controls.ts';
import { DataTable } from '../lib/dataTable.ts';
import { element, setText } from '../lib/dom.ts';
import { Redraw } from '../lib/frames.ts';
import { select } from '../lib/select.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { ColumnChooser } from './columnChooser.ts';
import { cellOf, isNumeric } from './runTableCells.ts';
import type { Line, RunTableModel } from './runTableModel.ts';

const groupingWords: Readonly<Record<RunGrouping, string>> = {
	none: 'No groups',
	project: 'By project',
	recipe: 'By recipe, across seeds',
	tags: 'By tags',
	status: 'By status',
};

/** Initial widths in CSS pixels; other columns are as wide as their label. */
const widths: Readonly<Record<string, number>> = { name: 180, status: 90, step: 70, created: 110 };

export interface AppActions {
	open(folder: string): void;
	compare(folders: readonly string[]): void;
}

/** Table of runs with a filter, groups and columns. */
export class App extends Disposable {
	readonly #model: RunTableModel;
	readonly #actions: AppActions;
	readonly #table: DataTable;
	readonly #grouping = select('Groups', (value) => this.#model.setGrouping(value as RunGrouping));
	readonly #others = element('input', { attributes: { type: 'checkbox' } });
	readonly #othersLabel = element('label', { class: 'others' }, this.#others, 'Other folders');
	readonly #count = element('span', { class: 'quiet', role: 'status' });
	readonly #fault = element('p', { class: 'fault', role: 'alert', hidden: true });
	readonly #empty = element('p', { class: 'quiet none', hidden: true });
	readonly #columns: ColumnChooser;
	readonly #compare = button({
		label: 'Compare',
		icon: 'compare',
		onClick: () => this.#actions.compare(this.#model.selected),
	});
	readonly #live = this.register(new LiveRegion());
	readonly #redraw = this.register(new Redraw(() => this.#render()));
	#head = '';

	constructor(root: HTMLElement, model: RunTableModel, actions: AppActions) {
		super();
		this.#model = model;
		this.#actions = actions;
		this.#columns = new ColumnChooser(model);
		const filter = textField({
			label: 'Filter runs',
			placeholder: 'Filter: words, beta>0.01, tags:good',
			icon: 'filter',
			value: model.state.filter,
			onInput: (value) => model.set({ filter: value.slice(0, 1000) }),
		});
		this.#others.addEventListener('change', () => model.set({ others: this.#others.checked }));
		this.#table = this.register(
			new DataTable({
				label: 'Runs',
				numberHead: '✓',
				numberWidth: 40,
				row: (index) => this.#row(index),
				onOpen: (index) => this.#open(index),
				opensOn: 'click',
			}),
		);
		this.#table.element.addEventListener('keydown', (event) => this.#onKey(event));
		root.append(
			element('h1', { class: 'visually-hidden' }, 'Runs'),
			element(
				'div',
				{ class: 'bar' },
				filter.element,
				this.#grouping.element,
				this.#othersLabel,
				this.#columns.element,
				this.#compare.element,
				this.#count,
			),
			this.#fault,
			this.#table.element,
			this.#empty,
			this.#live.element,
		);
		this.register(model.onChange(() => this.#redraw.schedule()));
		this.#render();
	}

	#render(): void {
		const { state, shown, lines, count, total, others, pending, loaded, fault, selected } = this.#model;
		this.#grouping.set(
			runGroupings.map((value) => ({ value, label: groupingWords[value] })),
			state.grouping,
		);
		this.#others.checked = state.others;
		this.#othersLabel.hidden = others === 0;
		this.#compare.setDisabled(selected.length < comparedRuns.min || selected.length > comparedRuns.max);
		this.#compare.setLabel(selected.length === 0 ? 'Compare' : `Compare ${selected.length}`);
		setText(this.#fault, fault ?? '');
		this.#fault.hidden = fault === null;
		const available = state.others ? total : total - others;
		const reading = pending === 0 ? '' : `, reading ${formatCount(pending)}`;
		setText(
			this.#count,
			count === available
				? `${formatCounted(count, 'run')}${reading}`
				: `${formatCount(count)} of ${formatCounted(available, 'run')}${reading}`,
		);
		const head = JSON.stringify([shown.map(({ id }) => id), state.sort]);
		if (head !== this.#head) {
			this.#head = head;
			this.#table.setColumns(
				shown.map((column) => ({
					name: column.id,
					label: plainLabel(column.label, 80),
					title: plainLabel(column.path, 200),
					numeric: isNumeric(column),
					width: widths[column.id] ?? Math.min(180, Math.max(90, 40 + 7 * column.label.length)),
				})),
				state.sort,
				(column) => this.#model.sortBy(column),
			);
		}
		this.#table.setRows(lines.length);
		this.#empty.hidden = lines.length > 0;
		setText(this.#empty, loaded ? nothing(available, others) : 'Loading runs…');
		this.#columns.update();
	}

	#row(index: number) {
		const line = this.#model.lines[index];
		if (line === undefined) return undefined;
		const now = Date.now() / 1000;
		const folders = foldersOf(line);
		const selected = folders.length > 0 && folders.every((folder) => this.#model.isSelected(folder));
		const name = line.kind === 'run' ? line.row.name : line.group.label;
		const box = element('input', {
			attributes: { type: 'checkbox' },
			tabIndex: -1,
			aria: { label: `Select ${plainLabel(name, 120)}` },
			on: {
				click: (event) => {
					event.stopPropagation();
					this.#model.toggleSelected(folders);
				},
			},
		});
		box.checked = selected;
		return {
			number: [box],
			cells: this.#model.shown.map((column, i) => {
				const cell = cellOf(line, column, now);
				const mark = line.kind === 'group' ? (line.expanded ? '▾ ' : '▸ ') : line.inGroup ? '\u2003' : '';
				return i === 0 && mark !== '' ? { ...cell, text: `${mark}${cell.text}` } : cell;
			}),
			opens: true,
			selected,
		};
	}

	#open(index: number): void {
		const line = this.#model.lines[index];
		if (line?.kind === 'run') this.#actions.open(line.row.folder);
		if (line?.kind !== 'group') return;
		this.#model.toggleGroup(line.group.key);
		this.#live.announce(`${line.group.label} ${line.expanded ? 'collapsed' : 'expanded'}`);
	}

	/** Selects the focused row's run when Space is pressed. */
	#onKey(event: KeyboardEvent): void {
		const target = event.target as HTMLElement;
		const row = target.closest('.data-rows .data-row');
		if (event.key !== ' ' || row === null || target.matches('input')) return;
		event.preventDefault();
		const line = this.#model.lines[Number(row.getAttribute('aria-rowindex')) - 2];
		if (line !== undefined) this.#model.toggleSelected(foldersOf(line));
	}
}

function foldersOf(line: Line): string[] {
	return line.kind === 'run' ? [line.row.folder] : line.group.rows.map(({ folder }) => folder);
}

/**
 * Returns why no run is listed.
 * @param available number of runs that can be listed without a filter
 * @param others number of runs in other folders
 */
function nothing(available: number, others: number): string {
	if (available > 0) return 'No runs match the filter.';
	return others === 0
		? 'No runs yet. Start a run, or open a run folder from the Runs view.'
		: 'No runs in this workspace. Select Other folders to list those in other folders.';
}
