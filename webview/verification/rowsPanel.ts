import { Disposable } from '../../src/base/disposable.ts';
import { firstUpper, formatNumber } from '../../src/base/format.ts';
import { stepText } from '../../src/protocol/rolloutLine.ts';
import type { ComparedSummary, ResultsView, RowSummary } from '../../src/protocol/verificationMessages.ts';
import { element, unseen } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { SelectionList } from '../lib/selectionList.ts';
import { signedBar, signedNumber } from '../lib/signedBar.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { sourceNames } from './distribution.ts';
import { panel } from './panel.ts';
import type { ResultsModel } from './resultsModel.ts';
import { changeText, expectationText, valueText } from './rowBadges.ts';
import { RowDetail } from './rowDetail.ts';
import { RowFilterBar } from './rowFilterBar.ts';
import { isUnlikeRecorded } from './rowFilters.ts';

const rowHeight = 48;

/** List of all rows, with the open row beside it. */
export class RowsPanel extends Disposable {
	readonly element: HTMLElement;
	readonly #model: ResultsModel;
	readonly #bar: RowFilterBar;
	readonly #list: SelectionList;
	readonly #detail: RowDetail;
	readonly #none: HTMLElement;
	readonly #work: HTMLElement;
	#largest = 0;

	constructor(model: ResultsModel, view: Exclude<ResultsView, 'audit'>, say: (text: string) => void) {
		super();
		this.#model = model;
		this.#bar = this.register(new RowFilterBar(model, view));
		this.#list = this.register(
			new SelectionList({
				label: 'Rows',
				class: 'row-list',
				rowHeight,
				draw: (row, i) => this.#draw(row, model.shown[i] as number),
				onSelect: (i) => model.openRow(model.shown[i] as number),
			}),
		);
		this.#detail = this.register(new RowDetail(model, say));
		this.#none = emptyState({
			title: 'No rows match the filters',
			text: 'Clear the filters to see all rows.',
			actions: [{ label: 'Clear Filters', run: () => model.clearFilters() }],
		});
		this.#work = element('div', { class: 'rows-work' }, this.#list.element, this.#detail.element);
		this.element = panel('Rows', null, this.#bar.element, this.#none, this.#work);
		this.element.classList.add('rows-panel');
	}

	focusSearch(): void {
		this.#bar.focus();
	}

	focusList(): void {
		this.#list.element.focus();
	}

	/** Redraws after the list or its order has changed. */
	update(): void {
		const { shown, row, compared, searching } = this.#model;
		this.#bar.update();
		this.#largest = compared.reduce(
			(largest, one) => Math.max(largest, Math.abs(one.advantageBefore), Math.abs(one.advantageAfter)),
			0,
		);
		this.#none.hidden = shown.length > 0 || searching;
		this.#work.hidden = shown.length === 0;
		this.#list.update(shown.length, row === null ? -1 : shown.indexOf(row));
	}

	/** Redraws after a different row has been opened. */
	open(): void {
		const { shown, row } = this.#model;
		this.#list.update(shown.length, row === null ? -1 : shown.indexOf(row));
		this.#detail.update();
	}

	#draw(row: HTMLElement, index: number): void {
		const verified = this.#model.verified[index];
		const compared = this.#model.compared[index];
		if (verified !== undefined) drawVerified(row, verified);
		else if (compared !== undefined) drawCompared(row, compared, this.#largest);
	}
}

function drawVerified(node: HTMLElement, row: RowSummary): void {
	const others = Object.entries(row.others).slice(0, 3);
	node.append(
		element(
			'span',
			{ class: 'row-line' },
			element('span', { class: `source-mark from-${row.source}`, title: sourceNames[row.source] }),
			element('span', { class: 'row-label' }, plainLabel(row.label, 160)),
			row.passed === false && element('span', { class: 'badge wrong' }, '✗ case'),
			row.passed === true && element('span', { class: 'badge right' }, '✓ case'),
			isUnlikeRecorded(row) && element('span', { class: 'badge warning' }, `run: ${formatNumber(row.recorded, 3)}`),
			row.truncated && element('span', { class: 'badge' }, 'truncated'),
			element('span', { class: row.error === null ? 'row-value' : 'badge wrong' }, unseen(', '), valueText(row)),
		),
		element(
			'span',
			{ class: 'row-line quiet' },
			unseen(', '),
			element('span', { class: 'row-text' }, plainLabel(row.error ?? row.completion, 160) || '(empty completion)'),
			row.expect !== undefined && element('span', { class: 'row-fact' }, `expected ${expectationText(row.expect)}`),
			...others.map(([name, value]) =>
				element('span', { class: 'row-fact other' }, `${plainLabel(name, 24)} ${formatNumber(value, 3)}`),
			),
		),
	);
}

function drawCompared(node: HTMLElement, row: ComparedSummary, largest: number): void {
	const label = firstUpper(`${stepText(row)}group ${row.group}, #${row.index}`);
	const [before, after] = [formatNumber(row.before, 3), formatNumber(row.after, 3)];
	const [was, is] = [signedNumber(row.advantageBefore), signedNumber(row.advantageAfter)];
	node.append(
		element(
			'span',
			{ class: 'row-line' },
			element('span', { class: 'row-label' }, label),
			row.flipped && element('span', { class: 'badge warning' }, 'flipped'),
			row.error !== null && element('span', { class: 'badge wrong' }, 'error'),
			row.truncated && element('span', { class: 'badge' }, 'truncated'),
			element('span', { class: 'row-value' }, unseen(', value '), before, unseen(' before,'), ' → ', after),
			element('span', { class: 'row-change' }, changeText(row)),
		),
		element(
			'span',
			{ class: 'row-line quiet' },
			unseen(', '),
			element('span', { class: 'row-text' }, plainLabel(row.completion, 160) || '(empty completion)'),
			element('span', { class: 'row-fact' }, `advantage ${was} → ${is}`),
			element(
				'span',
				{ class: 'bar-pair' },
				signedBar(row.advantageBefore, largest),
				signedBar(row.advantageAfter, largest),
			),
		),
	);
}
