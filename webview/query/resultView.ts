import { Disposable } from '../../src/base/disposable.ts';
import type { Answer } from '../../src/protocol/queryMessages.ts';
import type { RolloutRef } from '../../src/protocol/rolloutIndex.ts';
import { type ButtonControl, button } from '../lib/controls.ts';
import { DataTable } from '../lib/dataTable.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { icon } from '../lib/icons.ts';
import { select } from '../lib/select.ts';
import { summaryOf } from './answerSummary.ts';
import { ChartView } from './chartView.ts';
import { errorWords } from './errorPlace.ts';
import { examples } from './examples.ts';
import { HistogramView } from './histogramView.ts';
import { kindOfType } from './queryForm.ts';
import type { QueryModel } from './queryModel.ts';
import { firstChoice, numericColumns } from './resultChart.ts';
import { faultLine } from './sqlView.ts';
import { columnsOfHits, columnsOfTable, type TableColumn } from './tableOfAnswer.ts';

/** Query result with summary, rows, histogram, and export buttons. */
export class ResultView extends Disposable {
	readonly element: HTMLElement;
	readonly #model: QueryModel;
	readonly #summary = element('span', { class: 'result-summary', role: 'status' });
	readonly #bar: HTMLElement;
	readonly #chart;
	readonly #csv;
	readonly #parquet;
	readonly #body = element('div', { class: 'result-body' });
	readonly #histogram = new HistogramView();
	readonly #plot: ChartView;
	readonly #plotButton: ButtonControl;
	#table: DataTable | null = null;
	/** Result that the current table was built for. */
	#tableOf: unknown = null;

	constructor(model: QueryModel) {
		super();
		this.#model = model;
		this.#chart = select('Column for histogram', (column) => model.showHistogram(column === '' ? null : column));
		this.#plot = this.register(new ChartView(model));
		this.#plotButton = button({
			label: 'Chart',
			icon: 'chart',
			pressed: false,
			onClick: () => {
				const table = model.answer?.kind === 'table' ? model.answer.table : null;
				model.showChart(model.chart === null && table !== null ? firstChoice(table) : null);
			},
		});
		this.#csv = button({ label: 'Export CSV\u2026', icon: 'download', onClick: () => void model.export('csv') });
		this.#parquet = button({
			label: 'Export Parquet\u2026',
			icon: 'download',
			onClick: () => void model.export('parquet'),
		});
		this.#bar = element(
			'div',
			{ class: 'result-bar' },
			this.#summary,
			element('span', { class: 'spacer' }),
			this.#plotButton.element,
			this.#chart.element,
			this.#csv.element,
			this.#parquet.element,
		);
		this.element = element(
			'section',
			{ class: 'result', aria: { label: 'Result' } },
			this.#bar,
			this.#histogram.element,
			this.#plot.element,
			this.#body,
		);
	}

	/** Renders the result in the model. */
	update(): void {
		const { answer } = this.#model;
		this.#showBar();
		this.#plot.update(answer?.kind === 'table' ? answer.table : null);
		if (answer === null || answer.kind === 'failure') {
			this.#dropTable();
			fill(this.#body, answer === null ? this.#nothing() : this.#failure(answer));
			return;
		}
		const count = answer.kind === 'table' ? answer.table.rows.length : answer.hits.length;
		const over = answer.kind === 'table' || this.#model.busy === null;
		if (count === 0 && over) {
			this.#dropTable();
			fill(this.#body, this.#noRows(answer));
			return;
		}
		const of = answer.kind === 'table' ? answer.table : JSON.stringify(answer.question);
		if (this.#table === null || this.#tableOf !== of) {
			this.#dropTable();
			this.#table = this.#makeTable(answer);
			this.#tableOf = of;
			fill(this.#body, this.#table.element);
		}
		this.#table.setRows(count);
	}

	/** Shows or hides the histogram. */
	updateHistogram(): void {
		this.#histogram.update(this.#model.histogram);
		this.#histogram.element.hidden = this.#model.histogram === null;
		this.#showBar();
	}

	#dropTable(): void {
		this.#table?.dispose();
		this.#table = null;
		this.#tableOf = null;
	}

	#showBar(): void {
		const { answer, busy, histogram } = this.#model;
		const has = answer?.kind === 'table' || (answer?.kind === 'hits' && answer.hits.length > 0);
		this.#bar.hidden = !has;
		if (!has || answer === null) return;
		setText(this.#summary, summaryOf(answer, busy !== null));
		const columns =
			answer.kind === 'table' ? answer.table.columns.filter(({ type }) => kindOfType(type) !== 'text') : [];
		this.#chart.element.hidden = columns.length === 0;
		this.#chart.set(
			[
				{ value: '', label: 'No histogram' },
				...columns.map(({ name }) => ({ value: name, label: `Histogram of ${name}` })),
			],
			histogram?.column ?? '',
		);
		this.#plotButton.setHidden(answer.kind !== 'table' || numericColumns(answer.table).length === 0);
		this.#plotButton.setPressed(this.#model.chart !== null);
		this.#parquet.setHidden(answer.kind === 'hits');
		this.#csv.setDisabled(busy !== null);
		this.#parquet.setDisabled(busy !== null);
	}

	#makeTable(answer: Exclude<Answer, { kind: 'failure' }>): DataTable {
		const model = this.#model;
		const columns = this.#columnsOf(answer);
		const refAt = (row: number): RolloutRef | null => {
			if (answer.kind === 'table') return answer.table.refs?.[row] ?? null;
			const hit = model.answer?.kind === 'hits' ? model.answer.hits[row] : undefined;
			return hit ? refOf(hit) : null;
		};
		const table = new DataTable({
			label: answer.kind === 'hits' ? 'Hits' : 'Rows',
			numberHead: '#',
			numberWidth: 64,
			row: (index) => {
				const number = String(index + 1);
				const opens = refAt(index) !== null;
				return {
					number: opens ? [icon('open'), ` ${number}`] : [number],
					...(opens ? { numberLabel: `Open row ${number}` } : {}),
					opens,
					cells: columns.map(({ cell }) => cell(index)),
				};
			},
			onOpen: (index) => {
				const ref = refAt(index);
				if (ref) model.open(ref);
			},
			opensOn: 'number',
		});
		const { question } = answer;
		if (question.kind === 'sql') table.setColumns(columns, question.sort, (column) => model.sortBy(column));
		else table.setColumns(columns, null);
		return table;
	}

	#columnsOf(answer: Exclude<Answer, { kind: 'failure' }>): TableColumn[] {
		const model = this.#model;
		if (answer.kind === 'table') return columnsOfTable(answer.table);
		const names = new Map(model.runs.map(({ folder, name }) => [folder, name]));
		return columnsOfHits(
			() => (model.answer?.kind === 'hits' ? model.answer.hits : answer.hits),
			(folder) => names.get(folder) ?? folder,
		);
	}

	#nothing(): HTMLElement {
		const model = this.#model;
		if (!model.known) return emptyState({ title: 'Opening rollout index', text: 'This takes a moment.', actions: [] });
		if (model.fault !== null) {
			const { message, action } = model.fault;
			return emptyState({
				title: 'Cannot open the rollout index',
				text: [message, action].filter(Boolean).join(' '),
				actions: [],
			});
		}
		if (model.runs.length === 0) {
			return emptyState({
				title: 'No runs yet',
				text: 'Start a run, or add a folder with runs from any trainer, to query their rollouts.',
				actions: [{ label: 'Add Runs\u2026', run: () => model.addRuns() }],
			});
		}
		if (model.busy !== null)
			return emptyState({ title: 'Running query', text: 'Results will appear here.', actions: [] });
		return element(
			'div',
			{ class: 'empty' },
			element('h2', null, 'Query your rollouts'),
			element('p', null, 'Run the query above, or start with an example.'),
			element(
				'ul',
				{ class: 'example-list' },
				...examples.slice(0, 5).map(({ title, sql }) => {
					const begin = element('button', { class: 'link', attributes: { type: 'button' } }, title);
					begin.addEventListener('click', () => {
						model.setSql(sql);
						model.setMode('sql');
						model.ask();
					});
					return element('li', null, begin);
				}),
			),
		);
	}

	#noRows({ question }: Answer): HTMLElement {
		if (question.kind === 'search') {
			const { pattern, regex } = question.query;
			return emptyState({
				title: 'No matches',
				text: regex ? `Nothing matches ${pattern}` : `None of the searched completions contains "${pattern}".`,
				actions: [],
			});
		}
		const isForm = this.#model.mode === 'form';
		return emptyState({
			title: isForm ? 'No matching rollouts' : 'No rows',
			text: isForm ? 'Remove a condition, or select more runs.' : 'The statement is valid but returned no rows.',
			actions: [],
		});
	}

	#failure({ question, failure }: Extract<Answer, { kind: 'failure' }>): HTMLElement {
		const sql = question.kind === 'sql' ? question.sql : '';
		return element(
			'div',
			{ class: 'failure', role: 'alert' },
			element('p', { class: 'failure-words' }, errorWords(failure.message)),
			question.kind === 'sql' ? faultLine(failure.message, sql) : null,
			failure.action === undefined ? null : element('p', { class: 'quiet' }, failure.action),
		);
	}
}

function refOf({ run, split, step, group, index }: RolloutRef): RolloutRef {
	return { run, split, step, group, index };
}
