import { Disposable } from '../../src/base/disposable.ts';
import { formatBytes, formatCounted, formatProgress } from '../../src/base/format.ts';
import type { DatasetSnapshot, DatasetWork } from '../../src/protocol/datasetMessages.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { button } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { TabList } from '../lib/tabList.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { ColumnsView } from './columnsView.ts';
import type { DatasetModel } from './datasetModel.ts';
import { FilterBar } from './filterBar.ts';
import { RowDetailView } from './rowDetailView.ts';
import { RowTable } from './rowTable.ts';
import { type Side, sides } from './savedState.ts';
import { StatisticsView } from './statisticsView.ts';
import { TestsView } from './testsView.ts';

const sideNames: Readonly<Record<Side, string>> = {
	row: 'Row',
	statistics: 'Statistics',
	columns: 'Columns',
	tests: 'Test Sets',
};
const workNames: Readonly<Record<DatasetWork, string>> = {
	index: 'Indexing rows',
	statistics: 'Computing statistics',
	view: 'Filtering rows',
	overlaps: 'Checking overlaps',
	export: 'Exporting',
	difficulty: 'Estimating difficulty',
};

/** Dataset view. */
export class App extends Disposable {
	readonly #model: DatasetModel;
	readonly #live = this.register(new LiveRegion());
	readonly #title = element('h1', null);
	readonly #facts = element('p', { class: 'quiet facts-line' });
	readonly #notice = element('p', { class: 'remark done', role: 'status', hidden: true });
	readonly #stale = element('div', { class: 'remark stale', role: 'status', hidden: true });
	readonly #works = element('div', { class: 'works', role: 'group', aria: { label: 'Progress' } });
	readonly #body = element('div', { class: 'body' });
	readonly #empty = element('div', { class: 'empty-box', hidden: true });
	readonly #buttons: ReturnType<typeof button>[];
	readonly #filter: FilterBar;
	readonly #table: RowTable;
	readonly #detail: RowDetailView;
	readonly #views: Readonly<Record<Side, { readonly element: HTMLElement; update(): void }>>;
	readonly #tabs: TabList<Side>;
	readonly #panels: ReadonlyMap<Side, HTMLElement>;
	#emptyKey = '';
	#worksKey = '';

	constructor(root: HTMLElement, model: DatasetModel) {
		super();
		this.#model = model;
		this.#filter = this.register(new FilterBar(model));
		this.#detail = this.register(new RowDetailView(model));
		this.#table = this.register(new RowTable(model, () => this.#detail.focus()));
		this.#views = {
			row: this.#detail,
			statistics: new StatisticsView(model),
			columns: new ColumnsView(model),
			tests: new TestsView(model),
		};
		this.#buttons = [
			button({
				label: 'Use in Recipe\u2026',
				title: 'Use these rows as a recipe dataset',
				onClick: () => model.post({ type: 'useInRecipe' }),
			}),
			button({
				label: 'Difficulty\u2026',
				title: 'Estimate a policy’s pass rate for each row',
				onClick: () => model.post({ type: 'difficulty' }),
			}),
			button({
				label: 'Export Rows\u2026',
				icon: 'download',
				title: 'Export the filtered rows in the current order as JSONL',
				onClick: () => model.post({ type: 'export' }),
			}),
		];
		const openText = button({
			label: 'Open as Text',
			appearance: 'icon',
			icon: 'log',
			onClick: () => model.post({ type: 'openText' }),
		});
		this.#buttons.push(openText);
		this.#tabs = new TabList({
			label: 'Details',
			tabs: sides.map((id) => ({ id, label: sideNames[id] })),
			onSelect: (side) => model.setSide(side),
		});
		this.#panels = new Map(
			sides.map((name) => [
				name,
				this.#tabs.panel([name], { class: 'side-panel', tabIndex: 0 }, this.#views[name].element),
			]),
		);
		const side = element(
			'aside',
			{ class: 'side', aria: { label: 'Row details and statistics' } },
			this.#tabs.element,
			...this.#panels.values(),
		);
		this.#body.append(this.#table.element, side);
		root.append(
			element(
				'header',
				{ class: 'page-head' },
				element('div', { class: 'page-title' }, this.#title, this.#facts),
				element('div', { class: 'actions' }, ...this.#buttons.map((one) => one.element)),
			),
			this.#stale,
			this.#notice,
			this.#filter.element,
			this.#works,
			this.#body,
			this.#empty,
			this.#live.element,
		);
		const again = button({ label: 'Reload', onClick: () => model.post({ type: 'again' }) });
		this.#stale.append('The file has changed on disk. ', again.element);
		this.register(
			model.onChange((change) => {
				if (change === 'snapshot') this.#update();
				if (change === 'shown' || change === 'snapshot') this.#showSide();
				if (change === 'detail') this.#detail.update();
			}),
		);
		const onKey = (event: KeyboardEvent): void => this.#onKey(event);
		document.addEventListener('keydown', onKey);
		this.register({ dispose: () => document.removeEventListener('keydown', onKey) });
		this.#filter.element.hidden = true;
		this.#body.hidden = true;
		this.#showSide();
	}

	#showSide(): void {
		const now = this.#model.saved.side;
		this.#tabs.select(now);
		this.#views[now].update();
	}

	#update(): void {
		const snapshot = this.#model.snapshot;
		if (snapshot === null) return;
		setText(this.#title, plainLabel(snapshot.name, 120));
		const { format, size, columns, label } = snapshot;
		const facts = [
			label === snapshot.name ? null : plainLabel(label, 200),
			format === 'task' ? 'generated' : format.toUpperCase(),
			size === null ? null : formatBytes(size),
			formatCounted(columns.length, 'column'),
		].filter((part) => part !== null && part !== '');
		setText(this.#facts, facts.join(' \u00b7 '));
		this.#stale.hidden = !snapshot.stale;
		const { notice } = snapshot;
		this.#notice.hidden = notice === null;
		this.#notice.classList.toggle('bad', notice?.isError === true);
		setText(this.#notice, notice === null ? '' : plainLabel(notice.text, 1000));
		this.#showEmpty(snapshot);
		this.#showWorks(snapshot);
		this.#filter.update();
		const ready = snapshot.version > 0 && snapshot.rows > 0;
		for (const one of this.#buttons.slice(0, 3)) one.setDisabled(!ready);
		this.#buttons[3]?.setHidden(format === 'task' || format === 'parquet' || format === 'arrow' || format === '');
	}

	#showEmpty(snapshot: DatasetSnapshot): void {
		const { failure, rows, complete, version } = snapshot;
		const empty = failure !== null || (complete && rows === 0);
		this.#empty.hidden = !empty;
		this.#body.hidden = empty || version === 0;
		this.#filter.element.hidden = this.#body.hidden;
		const key = JSON.stringify([empty, failure]);
		if (!empty || key === this.#emptyKey) return;
		this.#emptyKey = key;
		const again = { label: 'Reload', run: () => this.#model.post({ type: 'again' }) };
		fill(
			this.#empty,
			emptyState(
				failure === null
					? { title: 'No rows', text: 'The file is empty.', actions: [again] }
					: {
							title: 'Cannot display the rows',
							text: plainLabel([failure.message, failure.action].filter(Boolean).join(' '), 1000),
							actions: [again],
						},
			),
		);
	}

	#showWorks({ works }: DatasetSnapshot): void {
		const key = JSON.stringify(works.map(({ what }) => what));
		if (key !== this.#worksKey) {
			this.#worksKey = key;
			fill(
				this.#works,
				...works.map(({ what }) =>
					element(
						'div',
						{ class: 'work' },
						element('span', null, workNames[what]),
						element('progress', { class: 'progress', aria: { label: workNames[what] } }),
						element('span', { class: 'quiet work-share' }),
						button({
							label: `Cancel: ${workNames[what]}`,
							appearance: 'icon',
							icon: 'close',
							onClick: () => this.#model.post({ type: 'cancel', what }),
						}).element,
					),
				),
			);
			if (works.length > 0) this.#live.announce(`${works.map(({ what }) => workNames[what]).join(', ')}`);
			else this.#live.announce(`Done. ${formatCounted(this.#model.snapshot?.view.rows, 'row is', 'rows are')} shown.`);
		}
		this.#works.hidden = works.length === 0;
		for (const [i, { done, total }] of works.entries()) {
			const progress = this.#works.children[i]?.querySelector('progress');
			const share = this.#works.children[i]?.querySelector('.work-share');
			if (!progress || !share) continue;
			if (total > 0) {
				progress.max = total;
				progress.value = done;
				setText(share, formatProgress(done, total));
			} else progress.removeAttribute('value');
		}
	}

	#onKey(event: KeyboardEvent): void {
		if (event.key !== 'Escape') return;
		const side = this.#panels.get('row');
		if (side?.contains(document.activeElement)) {
			event.preventDefault();
			this.#table.focus();
		}
	}
}
