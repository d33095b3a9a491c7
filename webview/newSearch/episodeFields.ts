import { rowLabel } from '../../src/core/episode/rowLabel.ts';
import { isSameEnvironment } from '../../src/core/episode/sameEnvironment.ts';
import { type ButtonControl, button } from '../lib/controls.ts';
import { element, setText } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { row } from './formRow.ts';
import type { NewSearchModel } from './newSearchModel.ts';

const none = 'none';
const server = 'server';
/** Maximum length of a row's columns in the form. */
const longestColumns = 1000;

/** Chooses the environment in which episodes are played, if any. */
export class EnvironmentField {
	readonly element: HTMLElement;
	readonly #model: NewSearchModel;
	readonly #choice = select('Environment', (value) => this.#choose(value));

	constructor(model: NewSearchModel) {
		this.#model = model;
		this.element = row('Environment', this.#choice.element);
	}

	draw(): void {
		const { environments, environment } = this.#model;
		const at = environments.findIndex(({ spec }) => environment !== null && isSameEnvironment(spec, environment));
		this.#choice.set(
			[
				{ value: none, label: 'None: one completion per problem' },
				...environments.map(({ label, description }, i) => ({
					value: String(i),
					label: `${plainLabel(label, 120)}${description === '' ? '' : ` (${plainLabel(description, 120)})`}`,
				})),
				{ value: server, label: 'OpenEnv server…' },
			],
			at < 0 ? none : String(at),
		);
	}

	#choose(value: string): void {
		if (value === server) void this.#model.chooseServer();
		else this.#model.setEnvironment(this.#model.environments[Number(value)]?.spec ?? null);
	}
}

/** Chooses the dataset row on which episodes are played. */
export class RowField {
	readonly element: HTMLElement;
	readonly #model: NewSearchModel;
	readonly #choice = select('Row', (value) => this.#model.chooseRow(Number(value)));
	readonly #columns = element('code', { class: 'columns' });
	readonly #note = element('p', { class: 'quiet' });
	readonly #read: ButtonControl;

	constructor(model: NewSearchModel) {
		this.#model = model;
		this.#read = button({ label: 'Load Rows', onClick: () => model.rows.readHeld() });
		this.element = row('Row', this.#choice.element, this.#read.element, this.#columns, this.#note);
	}

	draw(): void {
		const { environment, rows, draft } = this.#model;
		this.element.hidden = environment === null;
		if (environment === null) return;
		const chosen = draft.problem === undefined ? null : JSON.stringify(draft.problem.row);
		const offered = rows.offered?.rows ?? [];
		const at = offered.findIndex(({ problem }) => JSON.stringify(problem.row) === chosen);
		const other = draft.problem === undefined ? 'None' : plainLabel(rowLabel(draft.problem.row), 120);
		this.#choice.set(
			offered.map(({ label }, i) => ({ value: String(i), label: `${i + 1}: ${plainLabel(label, 120)}` })),
			at < 0 ? other : String(at),
		);
		const text = chosen === null || chosen === '{}' ? '' : chosen;
		setText(this.#columns, text.length > longestColumns ? `${text.slice(0, longestColumns)}…` : text);
		this.#columns.hidden = text === '';
		this.#read.element.hidden = !rows.held;
		const held = 'Loading rows starts the environment.';
		setText(this.#note, rows.failure ?? rows.offered?.source ?? (rows.held ? held : 'Reading rows…'));
	}
}

/** Limits the number of turns in an episode. */
export class TurnsField {
	readonly element: HTMLElement;
	readonly #model: NewSearchModel;
	readonly #text = element('input', { class: 'field turns', attributes: { type: 'text', inputmode: 'numeric' } });

	constructor(model: NewSearchModel) {
		this.#model = model;
		const note = element('p', { class: 'quiet' }, 'An episode ends after this many turns with tool calls');
		this.element = row('Max turns', this.#text, note);
		this.#text.addEventListener('input', () => model.typeTurns(this.#text.value));
	}

	draw(): void {
		this.element.hidden = this.#model.environment === null;
		const { turnsText } = this.#model;
		if (this.#text.value !== turnsText) this.#text.value = turnsText;
	}
}
