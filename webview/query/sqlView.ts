import { element, fill, setAria } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { errorPlace } from './errorPlace.ts';
import { examples } from './examples.ts';
import type { QueryModel } from './queryModel.ts';
import { SchemaView } from './schemaView.ts';

/** SQL editor with the schema next to it. */
export class SqlView {
	readonly element: HTMLElement;
	readonly #model: QueryModel;
	readonly #editor: HTMLTextAreaElement;
	readonly #examples;
	readonly #history;
	readonly #schema: SchemaView;

	constructor(model: QueryModel) {
		this.#model = model;
		this.#editor = element('textarea', {
			class: 'editor',
			aria: { label: 'SQL statement' },
			attributes: { rows: 8, spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', wrap: 'soft' },
		});
		this.#editor.addEventListener('input', () => {
			this.#unmark();
			model.setSql(this.#editor.value);
		});
		this.#examples = select('Examples', (value) => {
			const example = examples[Number(value)];
			if (value !== '' && example) this.#replace(example.sql);
		});
		this.#history = select('Query history', (value) => {
			const sql = model.history[Number(value)];
			if (value !== '' && sql !== undefined) this.#replace(sql);
		});
		this.#schema = new SchemaView((text) => this.#insert(text));
		this.element = element(
			'div',
			{ class: 'sql' },
			element(
				'div',
				{ class: 'sql-editor' },
				this.#editor,
				element('div', { class: 'fields' }, this.#examples.element, this.#history.element),
			),
			this.#schema.element,
		);
	}

	update(): void {
		const { sql, history } = this.#model;
		if (this.#editor.value !== sql) this.#editor.value = sql;
		this.#examples.set(
			[{ value: '', label: 'Examples\u2026' }, ...examples.map(({ title }, i) => ({ value: String(i), label: title }))],
			'',
		);
		this.#history.element.hidden = history.length === 0;
		this.#history.set(
			[
				{ value: '', label: 'History\u2026' },
				...history.map((text, i) => ({ value: String(i), label: plainLabel(text, 100), title: text.slice(0, 2000) })),
			],
			'',
		);
	}

	focus(): void {
		this.#editor.focus();
	}

	/** Selects the position of the error in a failed statement. */
	mark(message: string): void {
		const place = errorPlace(message, this.#editor.value);
		if (place === null) return;
		setAria(this.#editor, 'invalid', true);
		this.#editor.focus();
		this.#editor.setSelectionRange(place.start, place.end);
	}

	#unmark(): void {
		setAria(this.#editor, 'invalid', null);
	}

	#replace(sql: string): void {
		this.#unmark();
		this.#editor.focus();
		this.#editor.select();
		// Insert the text as if it were typed, so that it can be undone.
		if (!document.execCommand('insertText', false, sql)) this.#editor.value = sql;
		this.#model.setSql(this.#editor.value);
	}

	#insert(text: string): void {
		this.#unmark();
		this.#editor.focus();
		if (!document.execCommand('insertText', false, text)) {
			this.#editor.setRangeText(text, this.#editor.selectionStart, this.#editor.selectionEnd, 'end');
		}
		this.#model.setSql(this.#editor.value);
	}
}

/** Returns the line of the statement that contains the error, with the error marked. */
export function faultLine(message: string, sql: string): HTMLElement | null {
	const place = errorPlace(message, sql);
	if (place === null) return null;
	const start = sql.lastIndexOf('\n', place.start - 1) + 1;
	const stop = sql.indexOf('\n', place.start);
	const line = sql.slice(start, stop < 0 ? sql.length : stop);
	const [from, to] = [place.start - start, Math.max(place.start + 1, place.end) - start];
	const node = element('pre', { class: 'fault-line' });
	fill(
		node,
		element('span', { class: 'quiet' }, `${place.line}  `),
		line.slice(Math.max(0, from - 60), from),
		element('mark', null, line.slice(from, to) || ' '),
		line.slice(to, to + 60),
	);
	return node;
}
