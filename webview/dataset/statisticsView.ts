import { formatCount, formatCounted, formatNumber, formatPercent } from '../../src/base/format.ts';
import type { DatasetSnapshot, DatasetStatistics } from '../../src/protocol/datasetMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { rowHead, staticTable, tableBox } from '../lib/staticTable.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { DatasetModel } from './datasetModel.ts';

type Lengths = DatasetStatistics['prompt'];

/** Dataset statistics: lengths, answer types, duplicates, held-out share. */
export class StatisticsView {
	readonly element = element('div', { class: 'statistics' });
	readonly #model: DatasetModel;
	#drawn = '';

	constructor(model: DatasetModel) {
		this.#model = model;
	}

	update(): void {
		const snapshot = this.#model.snapshot;
		if (snapshot === null) return;
		const { statistics, difficulty, works } = snapshot;
		const counting = works.some(({ what }) => what === 'statistics');
		const key = JSON.stringify([statistics, difficulty, counting, snapshot.complete]);
		if (key === this.#drawn) return;
		this.#drawn = key;
		if (statistics === null) {
			const words = counting
				? 'Computing statistics…'
				: snapshot.complete
					? 'Statistics have not been computed yet.'
					: '';
			const count = button({ label: 'Compute', onClick: () => this.#model.post({ type: 'statistics' }) });
			fill(
				this.element,
				element('p', { class: 'quiet' }, words),
				snapshot.complete && !counting ? count.element : null,
			);
			return;
		}
		fill(
			this.element,
			this.#facts(statistics),
			...this.#lengths(statistics),
			...kinds(statistics),
			...this.#rates(snapshot),
		);
	}

	#facts(of: DatasetStatistics): HTMLElement {
		const only = (label: string, filter: 'duplicates' | 'side') =>
			element(
				'button',
				{
					class: 'link',
					attributes: { type: 'button' },
					on: {
						click: () => {
							const view = this.#model.wanted;
							if (view === null) return;
							const change = filter === 'duplicates' ? { duplicates: 'only' as const } : { side: 'held out' as const };
							this.#model.show({ ...view.filter, ...change }, view.sort);
						},
					},
				},
				label,
			);
		const repeated = (n: number, groups: number) =>
			n === 0
				? 'none'
				: n === 1
					? '1 duplicate of an earlier row'
					: `${formatCounted(n, 'duplicate')} of earlier rows (${formatCounted(groups, 'group')})`;
		const limited = (compared: number) => (compared < of.rows ? ` (among ${formatCounted(compared, 'row')})` : '');
		const first = of.firstRefused;
		const pairs: [string, (Node | string)[]][] = [
			['Rows', [formatCount(of.rows)]],
			[
				'Invalid rows',
				of.refused === 0
					? ['none']
					: [
							`${formatCount(of.refused)}; `,
							first === null
								? ''
								: element(
										'button',
										{
											class: 'link',
											attributes: { type: 'button' },
											on: {
												click: () => {
													this.#model.setSide('row');
													void this.#model.openRow(first.row, null);
												},
											},
										},
										`row ${formatCount(first.row + 1)}`,
									),
							first === null ? '' : ` ${plainLabel(first.message, 200)}`,
						],
			],
			['Exact duplicates', [repeated(of.exact.repeated, of.exact.groups), limited(of.compared.exact)]],
			[
				'Near duplicates',
				[
					repeated(of.near.repeated, of.near.groups),
					of.compared.near < of.compared.exact - of.exact.repeated
						? ` (among the first ${formatCount(of.compared.near)} distinct rows)`
						: '',
				],
			],
			['Held out', [`${formatCount(of.heldOut)} (${formatPercent(of.rows === 0 ? 0 : of.heldOut / of.rows)})`]],
			['Distinct words', [formatCount(of.vocabulary)]],
		];
		const actions: HTMLElement[] = [];
		if (of.exact.repeated + of.near.repeated > 0) actions.push(only('Show duplicates', 'duplicates'));
		if (of.heldOut > 0) actions.push(only('Show held-out rows', 'side'));
		return element(
			'div',
			null,
			element(
				'dl',
				{ class: 'facts' },
				...pairs.flatMap(([name, value]) => [element('dt', null, name), element('dd', null, ...value)]),
			),
			element('p', { class: 'fact-actions' }, ...actions),
		);
	}

	#lengths({ prompt, answer, solution, withSolution, rows }: DatasetStatistics): HTMLElement[] {
		const list: [string, Lengths][] = [
			['Prompt', prompt],
			['Answer', answer],
			[
				withSolution > 0 && withSolution < rows ? `Solution (${formatCounted(withSolution, 'row')})` : 'Solution',
				solution,
			],
		];
		const row = ([name, lengths]: [string, Lengths]) =>
			lengths === null
				? []
				: [
						element(
							'tr',
							null,
							rowHead(name),
							...[lengths.least, lengths.median, lengths.mean, lengths.p95, lengths.most].map((value) =>
								element('td', null, formatNumber(value)),
							),
						),
					];
		const body = list.flatMap(row);
		if (body.length === 0) return [];
		return [
			element('h2', { class: 'sub' }, 'Characters'),
			tableBox(
				'Lengths in characters',
				staticTable('plain-table', { head: [null, 'least', 'median', 'mean', '95%', 'most'], rows: body }),
			),
		];
	}

	#rates({ difficulty }: DatasetSnapshot): HTMLElement[] {
		if (difficulty === null) return [];
		return [
			element('h2', { class: 'sub' }, 'Difficulty'),
			element(
				'p',
				null,
				`${formatCounted(difficulty.rows, 'row has', 'rows have')} a pass rate for ${plainLabel(difficulty.name)} (${formatCounted(difficulty.questions, 'question')}). Sort and filter by the \u201cpass rate\u201d column.`,
			),
		];
	}
}

function kinds({ answerKinds, rows }: DatasetStatistics): HTMLElement[] {
	const shownKinds = answerKinds.filter(([kind]) => kind !== 'unknown' || answerKinds.length > 1);
	if (shownKinds.length === 0 || rows === 0) return [];
	return [
		element('h2', { class: 'sub' }, 'Answers'),
		element(
			'ul',
			{ class: 'kinds' },
			...shownKinds.map(([kind, times]) => {
				const bar = element('span', { class: 'kind-bar', aria: { hidden: true } });
				bar.style.width = `${(100 * times) / rows}%`;
				return element(
					'li',
					null,
					element('span', { class: 'kind-name' }, kind),
					element('span', { class: 'kind-room', aria: { hidden: true } }, bar),
					element('span', { class: 'kind-count' }, `${formatCount(times)} (${formatPercent(times / rows)})`),
				);
			}),
		),
	];
}
