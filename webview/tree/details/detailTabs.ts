import { Disposable } from '../../../src/base/disposable.ts';
import { element, fill } from '../../lib/dom.ts';
import { TabList } from '../../lib/tabList.ts';
import type { Change, TreeModel } from '../treeModel.ts';
import type { DetailTab } from './detailTab.ts';

const everything: ReadonlySet<Change> = new Set<Change>([
	'source',
	'events',
	'moment',
	'selection',
	'options',
	'folds',
	'search',
	'sides',
	'text',
	'tab',
]);
/** Minimum interval between redraws while events arrive, in milliseconds. */
const pause = 200;
/** Minimum interval between redraws while a log is loading, in milliseconds. */
const loadingPause = 1500;

/** Tabs in the details sidebar. */
export class DetailTabs extends Disposable {
	readonly element: HTMLElement;
	readonly #model: TreeModel;
	readonly #tabs: readonly DetailTab[];
	readonly #list: TabList<string>;
	readonly #panel;
	#shown: DetailTab | null = null;
	#stale = new Set<Change>();
	#timer: ReturnType<typeof setTimeout> | undefined;
	#drawnAt = 0;

	constructor(model: TreeModel, tabs: readonly DetailTab[]) {
		super();
		this.#model = model;
		this.#tabs = tabs;
		this.#list = new TabList({
			label: 'Details',
			tabs: tabs.map(({ id, label }) => ({ id, label })),
			onSelect: (id) => model.setTab(id),
			selectsOnFocus: false,
		});
		this.#panel = this.#list.panel(
			tabs.map(({ id }) => id),
			{ class: 'tab-panel', tabIndex: 0 },
		);
		this.element = element('aside', { class: 'details', aria: { label: 'Details' } }, this.#list.element, this.#panel);
		for (const tab of tabs) this.register(tab);
		this.register(model.onChange((changes) => this.#update(changes)));
		this.register({ dispose: () => clearTimeout(this.#timer) });
	}

	#update(changes: ReadonlySet<Change>): void {
		for (const { id, isOffered } of this.#tabs) this.#list.offer(id, isOffered !== false);
		const tab = this.#tabs.find(({ id, isOffered }) => id === this.#model.tab && isOffered !== false) ?? this.#tabs[0];
		if (tab === undefined) return;
		if (tab !== this.#shown) {
			this.#shown = tab;
			this.#list.select(tab.id);
			fill(this.#panel, tab.element);
			this.#panel.scrollTop = 0;
			this.#stale = new Set(everything);
			this.#draw();
			return;
		}
		for (const change of changes) this.#stale.add(change);
		// Redraw immediately after user actions, but throttle incoming events.
		const pours = [...changes].every((change) => change === 'events');
		const wait = this.#drawnAt + (this.#model.current?.complete === false ? loadingPause : pause) - performance.now();
		if (!pours || wait <= 0) this.#draw();
		else this.#timer ??= setTimeout(() => this.#draw(), wait);
	}

	#draw(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#drawnAt = performance.now();
		const changes = this.#stale;
		this.#stale = new Set();
		this.#shown?.update(changes);
	}
}
