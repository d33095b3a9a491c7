import { Disposable } from '../../src/base/disposable.ts';
import { formatCounted } from '../../src/base/format.ts';
import { element } from '../lib/dom.ts';
import type { Tooltip } from '../lib/tooltip.ts';
import { ComponentPanel } from './componentPanel.ts';
import { DistributionChart } from './distributionChart.ts';
import { GroupPanel } from './groupPanel.ts';
import type { Change, ResultsModel } from './resultsModel.ts';
import { noFilters } from './rowFilters.ts';
import { RowsPanel } from './rowsPanel.ts';
import { verificationStatistics } from './statistics.ts';
import { Tiles } from './tiles.ts';

/** Verification results: statistics, distribution, groups, components and all rows. */
export class VerificationView extends Disposable {
	readonly element: HTMLElement;
	readonly rows: RowsPanel;
	readonly #model: ResultsModel;
	readonly #tiles: Tiles;
	readonly #chart: DistributionChart;
	readonly #groups: GroupPanel;
	readonly #components: ComponentPanel;

	constructor(model: ResultsModel, tooltip: Tooltip, say: (text: string) => void) {
		super();
		this.#model = model;
		this.#tiles = this.register(
			new Tiles(tooltip, (rows) => {
				model.setFilters({ ...noFilters, ...rows });
				this.rows.element.scrollIntoView({ block: 'nearest' });
				say(`${formatCounted(model.shown.length, 'row')} shown`);
			}),
		);
		this.#chart = this.register(new DistributionChart(model));
		this.#groups = this.register(new GroupPanel(model));
		this.#components = new ComponentPanel(model);
		this.rows = this.register(new RowsPanel(model, 'verification', say));
		this.element = element(
			'div',
			{ class: 'view' },
			this.#tiles.element,
			element('div', { class: 'overview' }, this.#chart.element, this.#groups.element, this.#components.element),
			this.rows.element,
		);
	}

	update(changes: ReadonlySet<Change>): void {
		const { content } = this.#model;
		if (content?.view !== 'verification') return;
		if (changes.has('content')) {
			this.#tiles.update(verificationStatistics(content));
			this.#chart.update();
			this.#components.update(content);
		}
		if (changes.has('groups')) this.#groups.update();
		if (changes.has('rows')) {
			this.#chart.mark();
			this.rows.update();
		}
		if (changes.has('row')) this.rows.open();
	}
}
