import { button, textField } from '../lib/controls.ts';
import { element, fill, setAria, setText, setTitle } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { EpisodeModel } from './episodeModel.ts';

/** Header with the environment, the row and seed of the next episode, and the current activity. */
export class PageHeader {
	readonly element: HTMLElement;
	readonly #model: EpisodeModel;
	readonly #title = element('h1', null);
	readonly #file = element('span', { class: 'quiet file' });
	readonly #busy = element('span', { class: 'busy', role: 'status' });
	readonly #row = select('Row', (value) => this.#model.type({ row: Number(value), columns: null }));
	readonly #rowField: HTMLElement;
	readonly #seed;
	readonly #edit;
	readonly #reset;
	readonly #stop;
	readonly #restart;
	readonly #columns = element('textarea', {
		class: 'area',
		aria: { label: 'Columns of the row, as JSON' },
		attributes: { rows: 5, spellcheck: 'false', maxlength: 200_000 },
	});
	readonly #columnsPart: HTMLElement;
	readonly #problem = element('p', { class: 'problem', role: 'alert' });

	constructor(model: EpisodeModel) {
		this.#model = model;
		this.#seed = textField({ label: 'Seed', onInput: (seed) => model.type({ seed: seed.slice(0, 40) }) });
		this.#seed.element.classList.add('number');
		this.#edit = button({
			label: 'Edit Row',
			title: 'Start an episode with custom columns',
			pressed: false,
			onClick: () => this.#toggleColumns(),
		});
		this.#reset = button({ label: 'Reset', icon: 'reset', appearance: 'primary', onClick: () => this.#start() });
		this.#stop = button({ label: 'Stop', icon: 'stop', onClick: () => model.post({ type: 'stop' }) });
		this.#restart = button({
			label: 'Restart',
			title: 'Load the environment in a new process',
			onClick: () => model.post({ type: 'restart' }),
		});
		const open = button({ label: 'Open File', onClick: () => model.post({ type: 'openFile', line: null }) });
		this.#columns.addEventListener('input', () => model.type({ columns: this.#columns.value }));
		this.#columnsPart = element('div', { class: 'columns' }, this.#columns);
		this.#rowField = element(
			'span',
			{ class: 'labeled row-field' },
			element('span', { aria: { hidden: true } }, 'Row'),
			this.#row.element,
		);
		this.element = element(
			'header',
			{ class: 'page-head' },
			element(
				'div',
				{ class: 'head-line' },
				this.#title,
				this.#file,
				element('span', { class: 'spacer' }),
				open.element,
				this.#restart.element,
			),
			element(
				'div',
				{ class: 'head-line', role: 'group', aria: { label: 'New episode' } },
				this.#rowField,
				element('span', { class: 'labeled' }, element('span', { aria: { hidden: true } }, 'Seed'), this.#seed.element),
				this.#reset.element,
				this.#edit.element,
				this.#stop.element,
				this.#busy,
			),
			this.#columnsPart,
			this.#problem,
		);
	}

	draw(): void {
		const { status, form, busy } = this.#model;
		setText(this.#title, status?.environment?.name ?? 'Environment');
		const run = status?.runFolder;
		const name = plainLabel(status?.file.split(/[\\/]/).at(-1) ?? '', 80);
		setText(this.#file, run ? `${name}, copy in run ${plainLabel(run.split(/[\\/]/).at(-1) ?? '', 80)}` : name);
		setTitle(this.#file, status?.file ?? '');
		const rows = status?.rows ?? [];
		const index = this.#model.rowIndex(form.row);
		this.#row.set(
			rows.map(({ row, label }) => ({ value: String(row), label: `${row + 1}: ${plainLabel(label, 80)}` })),
			index === null ? '' : String(rows[index]?.row),
		);
		this.#rowField.hidden = status?.dataset == null;
		this.#row.element.disabled = form.columns !== null;
		this.#seed.setValue(form.seed);
		this.#edit.setPressed(form.columns !== null);
		this.#columnsPart.hidden = form.columns === null;
		if (form.columns !== null && this.#columns.value !== form.columns) this.#columns.value = form.columns;
		const forbidden = status?.forbidden != null;
		this.#reset.setDisabled(busy || forbidden || status?.environment == null);
		this.#restart.setDisabled(status === null || forbidden);
		this.#stop.setHidden(status?.busy == null);
		setText(this.#busy, status?.busy == null ? '' : `${plainLabel(status.busy, 120)}…`);
	}

	#start(): void {
		const wrong = this.#model.reset();
		setText(this.#problem, wrong?.why ?? '');
		setAria(this.#columns, 'invalid', wrong?.field === 'columns' ? true : null);
		if (wrong?.field === 'columns') this.#columns.focus();
		if (wrong?.field === 'seed') this.#seed.focus();
	}

	#toggleColumns(): void {
		fill(this.#problem);
		if (this.#model.form.columns !== null) {
			this.#model.type({ columns: null });
			return;
		}
		this.#model.editColumns().then(
			() => this.#columns.focus(),
			(error: unknown) => setText(this.#problem, String((error as Error).message)),
		);
	}
}
