import { formatCount, formatCounted } from '../../src/base/format.ts';
import { maxFindings } from '../../src/protocol/datasetMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { DatasetModel } from './datasetModel.ts';

/** Maximum number of findings in the list; filter the table to see all of them. */
const drawnFindings = 200;

/** Test sets, and the rows that overlap with them. */
export class TestsView {
	readonly element = element('div', { class: 'tests' });
	readonly #model: DatasetModel;
	#drawn = '';

	constructor(model: DatasetModel) {
		this.#model = model;
	}

	update(): void {
		const snapshot = this.#model.snapshot;
		if (snapshot === null) return;
		const { tests, overlaps, works } = snapshot;
		const looking = works.some(({ what }) => what === 'overlaps');
		const key = JSON.stringify([tests, overlaps, looking]);
		if (key === this.#drawn) return;
		this.#drawn = key;
		const add = button({
			label: 'Add Test Sets\u2026',
			icon: 'plus',
			onClick: () => this.#model.post({ type: 'addTests' }),
		});
		const remove = button({ label: 'Remove', onClick: () => this.#model.post({ type: 'removeTests' }) });
		fill(
			this.element,
			element(
				'p',
				{ class: 'quiet' },
				'A row overlaps if its prompt or solution shares a 10-gram with a test prompt, or contains an entire shorter test prompt.',
			),
			element(
				'ul',
				{ class: 'test-list' },
				...tests.map(({ name, rows, tooShort }) =>
					element(
						'li',
						null,
						`${plainLabel(name)}: ${formatCounted(rows, 'row')}`,
						tooShort === 0
							? null
							: element('span', { class: 'quiet' }, `, ${formatCount(tooShort)} too short to check`),
					),
				),
			),
			element('div', { class: 'actions' }, add.element, tests.length === 0 ? null : remove.element),
			...this.#findings(looking),
		);
	}

	#findings(looking: boolean): HTMLElement[] {
		const overlaps = this.#model.snapshot?.overlaps ?? null;
		if (overlaps === null) return looking ? [element('p', { class: 'quiet' }, 'Checking overlaps\u2026')] : [];
		const { rows, findings } = overlaps;
		if (rows === 0) return [element('p', { class: 'good' }, 'No overlaps found.')];
		const shown = findings.slice(0, drawnFindings);
		return [
			element('h2', { class: 'sub' }, formatCounted(rows, 'row overlaps', 'rows overlap')),
			element(
				'p',
				null,
				element(
					'button',
					{
						class: 'link',
						attributes: { type: 'button' },
						on: {
							click: () => {
								const view = this.#model.wanted;
								if (view) this.#model.show({ ...view.filter, overlaps: 'only' }, view.sort);
							},
						},
					},
					'Show in table',
				),
			),
			element(
				'ul',
				{ class: 'findings' },
				...shown.map(({ row, against, test, words }) =>
					element(
						'li',
						null,
						element(
							'button',
							{
								class: 'finding',
								attributes: { type: 'button' },
								on: {
									click: () => {
										this.#model.setSide('row');
										void this.#model.openRow(row, null);
									},
								},
							},
							element('span', null, `Row ${formatCount(row + 1)}`),
							element(
								'span',
								{ class: 'quiet' },
								` overlaps with ${plainLabel(against, 60)}, row ${formatCount(test + 1)}: `,
							),
							element('q', null, plainLabel(words, 200)),
						),
					),
				),
			),
			...(rows > shown.length
				? [
						element(
							'p',
							{ class: 'quiet' },
							`Showing the first ${formatCount(Math.min(shown.length, maxFindings))} of ${formatCount(rows)}.`,
						),
					]
				: []),
		];
	}
}
