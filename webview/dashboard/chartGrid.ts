import { Disposable } from '../../src/base/disposable.ts';
import { type PairNeeds, pairTitle } from '../lib/charts/metricPairCard.ts';
import { MetricPairCards, pairKey } from '../lib/charts/metricPairCards.ts';
import { element, fill, setAria, setText, uniqueId } from '../lib/dom.ts';
import { icon } from '../lib/icons.ts';
import { type CardNeeds, type CardState, ChartCard } from './chartCard.ts';
import { containsWords, matchesFilter } from './chartCatalog.ts';
import type { ChartGroup } from './chartParts.ts';
import { arrangement, fittingColumns } from './gridColumns.ts';

interface Section {
	readonly root: HTMLElement;
	readonly button: HTMLButtonElement;
	readonly count: HTMLElement;
	readonly grid: HTMLElement;
}

/** Grid of the run's charts, in groups. A card is kept as long as its chart exists. */
export class ChartGrid extends Disposable {
	readonly element = element('div', { class: 'groups' });
	readonly #needs: CardNeeds;
	readonly #stateOf: (chart: string) => CardState;
	readonly #onCollapse: (group: string, collapsed: boolean) => void;
	readonly #cards = new Map<string, ChartCard>();
	readonly #pairs: MetricPairCards;
	readonly #sections = new Map<string, Section>();
	#groups: readonly ChartGroup[] = [];
	#filter = '';
	#collapsed: ReadonlySet<string>;
	#key = '';
	/** Page width in pixels. */
	#width = 0;

	constructor(
		needs: CardNeeds,
		options: {
			readonly stateOf: (chart: string) => CardState;
			readonly collapsed: ReadonlySet<string>;
			readonly onCollapse: (group: string, collapsed: boolean) => void;
			readonly pairs: PairNeeds;
		},
	) {
		super();
		this.#needs = needs;
		this.#pairs = this.register(new MetricPairCards(options.pairs));
		this.#stateOf = options.stateOf;
		this.#collapsed = options.collapsed;
		this.#onCollapse = options.onCollapse;
		const resize = new ResizeObserver(([entry]) => {
			this.#width = entry?.contentRect.width ?? this.#width;
			this.#arrange();
		});
		resize.observe(this.element);
		this.register({ dispose: () => resize.disconnect() });
		this.register({ dispose: () => this.clear() });
	}

	/** Whether no chart matches the filter. */
	get empty(): boolean {
		return this.#groups.every((group) => this.#cardsOf(group).length === 0);
	}

	setGroups(groups: readonly ChartGroup[]): void {
		const key = JSON.stringify(groups);
		if (key === this.#key) return;
		this.#key = key;
		this.#groups = groups;
		const wanted = new Set(groups.flatMap((group) => group.charts.map((spec) => spec.id)));
		for (const [id, card] of this.#cards) {
			if (wanted.has(id)) continue;
			card.element.remove();
			card.dispose();
			this.#cards.delete(id);
		}
		for (const spec of groups.flatMap((group) => group.charts)) {
			const card = this.#cards.get(spec.id);
			if (card) card.setSpec(spec);
			else this.#cards.set(spec.id, new ChartCard(spec, this.#stateOf(spec.id), this.#needs));
		}
		for (const [id, section] of this.#sections) {
			if (groups.some((group) => group.id === id)) continue;
			section.root.remove();
			this.#sections.delete(id);
		}
		this.#pairs.set(groups.flatMap(({ pairs }) => pairs ?? []));
		this.#layout();
	}

	setFilter(filter: string): void {
		this.#filter = filter;
		this.#layout();
	}

	update(): void {
		for (const card of this.#cards.values()) card.update();
		this.#pairs.update();
	}

	/** Redraws the metric-pair charts, which show only the visible steps. */
	updatePairs(): void {
		this.#pairs.update();
	}

	applySettings(): void {
		for (const card of this.#cards.values()) card.applySettings();
	}

	rebuild(): void {
		for (const card of this.#cards.values()) card.rebuild();
		this.#pairs.rebuild();
	}

	clear(): void {
		for (const card of this.#cards.values()) card.dispose();
		this.#cards.clear();
		this.#pairs.set([]);
		this.#sections.clear();
		this.#groups = [];
		this.#key = '';
		fill(this.element);
	}

	/** Brings a metric's chart into view and highlights it. Returns false if there is no such chart. */
	reveal(metric: string): boolean {
		for (const group of this.#groups) {
			const spec = group.charts.find(({ lines }) => lines.some((line) => line.metric === metric));
			const card = spec && this.#cards.get(spec.id)?.element;
			if (card === undefined) continue;
			if (this.#filter === '' && this.#collapsed.has(group.id)) this.#onCollapse(group.id, false);
			this.#collapsed = new Set([...this.#collapsed].filter((id) => id !== group.id));
			this.#layout();
			for (const other of this.#cards.values()) other.element.classList.toggle('cited', other.element === card);
			card.scrollIntoView({ block: 'center' });
			return true;
		}
		return false;
	}

	#layout(): void {
		const roots: HTMLElement[] = [];
		for (const group of this.#groups) {
			const section = this.#section(group);
			const shown = this.#cardsOf(group);
			setText(section.count, String(shown.length));
			section.root.hidden = shown.length === 0;
			const collapsed = this.#collapsed.has(group.id) && this.#filter === '';
			section.grid.hidden = collapsed;
			setAria(section.button, 'expanded', !collapsed);
			reconcile(section.grid, shown);
			roots.push(section.root);
		}
		reconcile(this.element, roots);
		this.#arrange();
	}

	/** Returns the elements of a group's charts that match the filter. */
	#cardsOf({ charts, pairs = [] }: ChartGroup): HTMLElement[] {
		const drawn = this.#pairs.elements;
		return [
			...charts.filter((spec) => matchesFilter(spec, this.#filter)).map(({ id }) => this.#cards.get(id)?.element),
			...pairs
				.filter((pair) => containsWords([pairTitle(pair), pair.x, pair.y], this.#filter))
				.map((pair) => drawn.get(pairKey(pair))),
		].flatMap((card) => card ?? []);
	}

	/** Uses the maximum number of columns that does not leave a single chart in the last row. */
	#arrange(): void {
		for (const { grid } of this.#sections.values()) {
			const { columns, last } = arrangement(grid.childElementCount, fittingColumns(this.#width));
			grid.style.setProperty('--columns', String(columns));
			[...grid.children].forEach((card, i, cards) => {
				(card as HTMLElement).style.gridColumn = last && i === cards.length - 1 ? '1 / -1' : '';
			});
		}
	}

	#section(group: ChartGroup): Section {
		const known = this.#sections.get(group.id);
		if (known) return known;
		const gridId = uniqueId('group');
		const count = element('span', { class: 'count', aria: { hidden: true } });
		const button = element(
			'button',
			{
				class: 'group-button',
				attributes: { type: 'button' },
				aria: { controls: gridId, expanded: true },
				on: { click: () => this.#toggle(group.id) },
			},
			icon('expand'),
			group.title,
			count,
		);
		const grid = element('div', { class: 'grid', id: gridId });
		const root = element('section', { class: 'group', data: { group: group.id } }, element('h2', null, button), grid);
		const section = { root, button, count, grid };
		this.#sections.set(group.id, section);
		return section;
	}

	#toggle(group: string): void {
		const collapsed = new Set(this.#collapsed);
		if (!collapsed.delete(group)) collapsed.add(group);
		this.#collapsed = collapsed;
		this.#onCollapse(group, collapsed.has(group));
		this.#layout();
	}
}

/** Updates the children with minimal DOM changes, so that the focused element keeps its focus. */
function reconcile(parent: HTMLElement, children: readonly HTMLElement[]): void {
	const wanted = new Set<Element>(children);
	for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
	children.forEach((child, i) => {
		if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
	});
}
