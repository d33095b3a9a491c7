import { formatCount, formatNumber } from '../../src/base/format.ts';
import { maxSearchRows, type SearchRow } from '../../src/protocol/strategiesMessages.ts';
import type { PointSummary } from '../../src/protocol/strategyComparison.ts';
import { button, type DropdownControl, dropdown } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { staticTable, tableBox } from '../lib/staticTable.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { StrategiesModel } from './strategiesModel.ts';

type Which = 'all' | 'right' | 'wrong';
const words: Readonly<Record<Which, string>> = { all: 'All searches', right: 'Correct', wrong: 'Incorrect' };

/** The searches behind a plotted point, each with a link to its tree. */
export class SearchList {
	readonly element = element('section', { class: 'searches', aria: { label: 'Searches for this point' } });
	readonly #model: StrategiesModel;
	readonly #title = element('h2');
	/** Kept while results arrive, because it may be open or focused. */
	readonly #choice: DropdownControl;
	readonly #place = element('span', { class: 'place' });
	readonly #body = element('div');
	readonly #head: HTMLElement;
	#point: PointSummary | null = null;
	#which: Which = 'all';
	#from = 0;
	#shown: { readonly rows: readonly SearchRow[]; readonly total: number } | null = null;
	#failure: string | null = null;
	#asked: AbortController | null = null;

	constructor(model: StrategiesModel) {
		this.#model = model;
		this.#choice = dropdown({
			label: 'Filter searches',
			choices: (Object.keys(words) as Which[]).map((value) => ({ value, label: words[value] })),
			value: this.#which,
			onChange: (value) => {
				this.#which = value as Which;
				this.#from = 0;
				void this.#load();
			},
		});
		this.#head = element(
			'div',
			{ class: 'toolbar' },
			this.#title,
			this.#choice.element,
			this.#place,
			element('span', { class: 'spacer' }),
			button({ label: 'Close', icon: 'close', appearance: 'icon', onClick: () => model.select(null) }).element,
		);
	}

	/** Shows the searches for a point, or nothing if it is null. */
	show(point: PointSummary | null): void {
		if (point?.id === this.#point?.id) {
			this.#point = point;
			return;
		}
		this.#point = point;
		this.#from = 0;
		this.#shown = null;
		if (point === null) {
			this.#asked?.abort();
			fill(this.element);
		} else void this.#load();
	}

	async #load(): Promise<void> {
		const point = this.#point;
		if (point === null) return;
		this.#asked?.abort();
		const asked = new AbortController();
		this.#asked = asked;
		this.#failure = null;
		this.#draw();
		try {
			const params = { point: point.shared ? 'samples' : point.id, which: this.#which, from: this.#from };
			this.#shown = await this.#model.host.request('searches', params, asked.signal);
		} catch (error) {
			if (asked.signal.aborted) return;
			this.#failure = String(error);
		}
		this.#draw();
	}

	#draw(): void {
		const point = this.#point;
		if (point === null) return;
		const summaryEvent = this.#shown;
		const from = this.#from;
		const more = (label: string, icon: 'previous' | 'next', to: number, possible: boolean) =>
			possible
				? button({
						label,
						icon,
						appearance: 'icon',
						onClick: () => {
							this.#from = to;
							void this.#load();
						},
					}).element
				: null;
		const total = summaryEvent?.total ?? 0;
		setText(this.#title, `${plainLabel(point.name, 80)}, ${plainLabel(point.label, 120)}`);
		fill(
			this.#place,
			more('Previous searches', 'previous', Math.max(0, from - maxSearchRows), from > 0),
			summaryEvent === null
				? null
				: element(
						'span',
						{ class: 'quiet' },
						total === 0
							? 'none'
							: `${formatCount(from + 1)} to ${formatCount(from + summaryEvent.rows.length)} of ${formatCount(total)}`,
					),
			more(
				'Next searches',
				'next',
				from + maxSearchRows,
				summaryEvent !== null && from + summaryEvent.rows.length < total,
			),
		);
		if (this.#head.parentElement !== this.element) fill(this.element, this.#head, this.#body);
		// Keep the height while rows are replaced, so the page does not jump twice.
		this.#body.style.minHeight =
			summaryEvent === null && this.#failure === null ? `${this.#body.getBoundingClientRect().height}px` : '';
		fill(
			this.#body,
			point.shared
				? element(
						'p',
						{ class: 'quiet' },
						this.#played
							? 'This point selects among independent episodes. Each tree shows all of them. The verdict shown here is for the first one, or for the majority answer if they contain answers.'
							: 'This point selects among independent samples. Each tree lists all samples with their values. The verdict shown here is for the majority answer.',
					)
				: null,
			this.#failure !== null
				? element('p', { role: 'alert' }, plainLabel(this.#failure, 600))
				: summaryEvent === null
					? element('p', { class: 'quiet', role: 'status' }, 'Loading searches…')
					: this.#table(summaryEvent.rows, point),
		);
	}

	#table(rows: readonly SearchRow[], point: PointSummary): HTMLElement {
		if (rows.length === 0) return element('p', { class: 'quiet' }, 'No searches found.');
		return tableBox(
			'Searches, table',
			staticTable('', {
				head: ['Problem', this.#played ? 'Reward' : 'Answer', 'Verdict', 'Tokens', 'Nodes', 'Stop', 'Tree'],
				rows: rows.map((row) => this.#row(row, point)),
			}),
		);
	}

	get #played(): boolean {
		return this.#model.summaryEvent?.summary.environment !== undefined;
	}

	#row(row: SearchRow, point: PointSummary): HTMLElement {
		const { problem, prompt, gold, reward, correct, any, tokens, nodes, stop, failed } = row;
		const answer = this.#played ? (reward === null ? null : formatNumber(reward, 3)) : row.answer;
		const verdict =
			failed !== null
				? element('span', { class: 'badge warning', title: plainLabel(failed, 300) }, 'failed')
				: correct === null
					? element('span', { class: 'badge' }, 'unknown')
					: correct === 1
						? element('span', { class: 'badge right' }, 'correct')
						: element(
								'span',
								{ class: 'badge wrong' },
								any === 1 ? 'incorrect (another candidate was correct)' : 'incorrect',
							);
		return element(
			'tr',
			null,
			element(
				'th',
				{ class: 'prompt', attributes: { scope: 'row' } },
				element('span', { class: 'quiet' }, `${formatCount(problem + 1)}  `),
				plainLabel(prompt, 200),
			),
			element(
				'td',
				{ class: 'answer' },
				answer === null ? element('span', { class: 'quiet' }, 'none') : plainLabel(answer, 120),
				correct === 0 && gold !== null
					? element('span', { class: 'quiet' }, ` (gold: ${plainLabel(gold, 120)})`)
					: null,
			),
			element('td', null, verdict),
			element('td', null, formatCount(tokens)),
			element('td', null, formatCount(nodes)),
			element('td', null, plainLabel(stop, 40)),
			element(
				'td',
				null,
				point.trees === null || failed !== null
					? element('span', { class: 'quiet' }, 'not saved')
					: element(
							'button',
							{
								class: 'link',
								attributes: { type: 'button' },
								aria: { label: `Open tree for problem ${problem + 1}` },
								on: { click: () => this.#open(point, problem) },
							},
							'Open Tree',
						),
			),
		);
	}

	#open(point: PointSummary, problem: number): void {
		this.#model.host.request('open', { point: point.trees ?? point.id, problem }).catch((error: unknown) => {
			this.#failure = String(error);
			this.#draw();
		});
	}
}
