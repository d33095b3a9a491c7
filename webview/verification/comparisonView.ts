import { Disposable } from '../../src/base/disposable.ts';
import { formatCounted, formatNumber } from '../../src/base/format.ts';
import type { ComparedGroup } from '../../src/protocol/comparison.ts';
import { stepText } from '../../src/protocol/rolloutLine.ts';
import { button } from '../lib/controls.ts';
import { element, setText, unseen } from '../lib/dom.ts';
import { SelectionList } from '../lib/selectionList.ts';
import type { Tooltip } from '../lib/tooltip.ts';
import { panel } from './panel.ts';
import type { Change, ResultsModel } from './resultsModel.ts';
import { groupKey, noFilters } from './rowFilters.ts';
import { RowsPanel } from './rowsPanel.ts';
import { comparisonStatistics } from './statistics.ts';
import { Tiles } from './tiles.ts';

const rowHeight = 28;
const ranks = { lost: 0, gained: 1, alive: 2, dead: 3 } as const;
const words = { lost: 'loses', gained: 'gains', alive: 'alive', dead: 'dead' } as const;

/** Sorts killed groups first, then revived groups, then by ascending rank correlation. Pure. */
export function sortGroups(groups: readonly ComparedGroup[]): ComparedGroup[] {
	return groups.toSorted(
		(a, b) => ranks[a.variance] - ranks[b.variance] || (a.rankCorrelation ?? 2) - (b.rankCorrelation ?? 2),
	);
}

/** Compares two rewards on the same rollouts: changes in statistics, groups and rollouts. */
export class ComparisonView extends Disposable {
	readonly element: HTMLElement;
	readonly rows: RowsPanel;
	readonly #model: ResultsModel;
	readonly #tiles: Tiles;
	readonly #list: SelectionList;
	readonly #note = element('p', { class: 'quiet panel-note' });
	readonly #all;
	readonly #open;
	readonly #say: (text: string) => void;
	#groups: readonly ComparedGroup[] = [];

	constructor(model: ResultsModel, tooltip: Tooltip, say: (text: string) => void) {
		super();
		this.#model = model;
		this.#say = say;
		this.#tiles = this.register(
			new Tiles(tooltip, (rows) => {
				model.setFilters({ ...noFilters, ...rows });
				this.rows.element.scrollIntoView({ block: 'nearest' });
			}),
		);
		this.#list = this.register(
			new SelectionList({
				label: 'Groups: step and group, standard deviation before and after, rank correlation, variance',
				class: 'compared-list',
				rowHeight,
				draw: (row, i) => drawGroup(row, this.#groups[i] as ComparedGroup),
				onSelect: (i) => model.setFilters({ group: keyOf(this.#groups[i] as ComparedGroup) }),
			}),
		);
		this.#all = button({ label: 'All groups', onClick: () => model.setFilters({ group: null }) });
		this.#open = button({ label: 'Open rollouts', icon: 'rollouts', onClick: () => this.#openGroup() });
		this.rows = this.register(new RowsPanel(model, 'comparison', say));
		const names = ['Group', 'SD before', 'SD after', 'Rank corr.', 'Variance'];
		this.element = element(
			'div',
			{ class: 'view' },
			this.#tiles.element,
			panel(
				'Groups',
				element('div', { class: 'panel-tools' }, this.#open.element, this.#all.element),
				this.#note,
				element(
					'div',
					{ class: 'compared-names', aria: { hidden: true } },
					...names.map((name) => element('span', null, name)),
				),
				this.#list.element,
			),
			this.rows.element,
		);
	}

	update(changes: ReadonlySet<Change>): void {
		const { content, filters } = this.#model;
		if (content?.view !== 'comparison') return;
		if (changes.has('content')) {
			this.#tiles.update(comparisonStatistics(content));
			this.#groups = sortGroups(content.groups);
			const { gained, lost } = content.summary;
			setText(
				this.#note,
				`${formatCounted(content.groups.length, 'group')}: ${gained} revived, ${lost} killed. Select a group to see only its rollouts.`,
			);
		}
		if (changes.has('groups')) {
			const at = filters.group === null ? -1 : this.#groups.findIndex((group) => keyOf(group) === filters.group);
			this.#list.update(this.#groups.length, at);
			this.#all.setHidden(filters.group === null);
			this.#open.setHidden(filters.group === null);
		}
		if (changes.has('rows')) this.rows.update();
		if (changes.has('row')) this.rows.open();
	}

	#openGroup(): void {
		const { compared, filters } = this.#model;
		const index = compared.findIndex((row) => keyOf(row) === filters.group);
		if (index === -1) return;
		this.#model.act('openRollouts', index).catch((error: unknown) => this.#say(String(error)));
	}
}

const keyOf = ({ step, group }: Pick<ComparedGroup, 'step' | 'group'>) => groupKey(group, step);

function drawGroup(
	node: HTMLElement,
	{ step, group, stdBefore, stdAfter, variance, rankCorrelation }: ComparedGroup,
): void {
	node.append(
		element('span', null, `${stepText({ step })}group ${group}`),
		element('span', { class: 'number' }, unseen(', before '), `± ${formatNumber(stdBefore, 2)}`),
		element('span', { class: 'number' }, unseen(', after '), `± ${formatNumber(stdAfter, 2)}`),
		element('span', { class: 'number' }, unseen(', rank correlation '), formatNumber(rankCorrelation, 2)),
		element(
			'span',
			null,
			unseen(', '),
			element(
				'span',
				{ class: `badge ${variance === 'lost' ? 'wrong' : variance === 'gained' ? 'right' : variance}` },
				words[variance],
				(variance === 'lost' || variance === 'gained') && element('span', { class: 'roomy' }, ' variance'),
			),
		),
	);
}
