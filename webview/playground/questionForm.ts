import { longestQuestion } from '../../src/protocol/playgroundMessages.ts';
import { button, textField } from '../lib/controls.ts';
import { element, setText, setTitle } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { type Field, fieldNames, type PlaygroundModel } from './playgroundModel.ts';

const hints: Readonly<Record<Field, string>> = {
	temperature: '0 always selects the most probable token (greedy)',
	topP: 'Nucleus sampling: samples from the smallest set of tokens with this total probability',
	maxTokens: 'Max new tokens per completion',
	seed: 'The same seed gives the same text; used for both policies',
	samples: 'Completions per policy, 1 to 8',
};

/** Form with the question, expected answer, template and sampling parameters. */
export class QuestionForm {
	readonly element = element('form', { class: 'form', aria: { label: 'Question' } });
	readonly #model: PlaygroundModel;
	readonly #say: (text: string) => void;
	readonly #question = area('Question', 'Ask the policy a question (Ctrl+Enter to send)', 4);
	readonly #expected = textField({
		label: 'Expected answer, to check correctness',
		placeholder: 'None (answers are not checked)',
		onInput: (expected) => this.#model.type({ expected }),
	});
	readonly #fields = new Map<Field, ReturnType<typeof textField>>();
	readonly #mode = select('Template', (mode) => {
		if (mode === 'own' || mode === 'raw' || mode === 'custom') this.#setMode(mode);
	});
	readonly #template = area('Template with {prompt}', '{prompt}', 3);
	readonly #templateRow = element('div', { class: 'row' }, this.#template);
	readonly #system = area('System message', 'System message', 2);
	readonly #systemRow = element(
		'div',
		{ class: 'row' },
		element('span', { class: 'row-name', aria: { hidden: true } }, 'System message'),
		this.#system,
	);
	readonly #shownTemplate = element('code', { class: 'template-text' });
	readonly #ask = button({
		label: 'Ask',
		icon: 'play',
		appearance: 'primary',
		title: 'Ctrl+Enter, or Cmd+Enter',
		onClick: () => this.ask(),
	});
	readonly #stop = button({
		label: 'Stop',
		icon: 'stop',
		title: 'Stop generating and keep the text so far (Escape)',
		onClick: () => this.#model.host.post({ type: 'stop' }),
	});
	readonly #problem = element('p', { class: 'problem', role: 'alert' });

	constructor(model: PlaygroundModel, say: (text: string) => void) {
		this.#model = model;
		this.#say = say;
		const fields = (Object.keys(fieldNames) as Field[]).map((field) => {
			const control = textField({ label: fieldNames[field], onInput: (value) => model.setField(field, value) });
			control.element.classList.add('number');
			this.#fields.set(field, control);
			return element(
				'span',
				{ class: 'labeled', title: hints[field] },
				element('span', { aria: { hidden: true } }, fieldNames[field]),
				control.element,
			);
		});
		this.#question.addEventListener('input', () => model.type({ question: this.#question.value }));
		this.#template.addEventListener('input', () => model.type({ template: this.#template.value }));
		this.#system.addEventListener('input', () => model.type({ system: this.#system.value }));
		this.element.addEventListener('submit', (event) => event.preventDefault());
		this.element.addEventListener('keydown', (event) => {
			if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
			event.preventDefault();
			this.ask();
		});
		this.element.append(
			this.#question,
			element(
				'div',
				{ class: 'row' },
				element(
					'span',
					{ class: 'labeled grow' },
					element('span', { aria: { hidden: true } }, 'Expected answer'),
					this.#expected.element,
				),
				element(
					'span',
					{ class: 'labeled' },
					element('span', { aria: { hidden: true } }, 'Template'),
					this.#mode.element,
				),
				this.#shownTemplate,
			),
			this.#templateRow,
			this.#systemRow,
			element('div', { class: 'row' }, ...fields),
			element('div', { class: 'row' }, this.#ask.element, this.#stop.element, this.#problem),
		);
	}

	focus(): void {
		this.#question.focus();
	}

	ask(): void {
		if (this.#model.running || this.#model.forbidden !== null) return;
		const lacks = this.#model.ask();
		setText(this.#problem, lacks?.why ?? '');
		if (lacks === null) {
			this.#say('Sent.');
			return;
		}
		if (lacks.field === 'question') this.#question.focus();
		else if (lacks.field === 'template') this.#template.focus();
		else if (lacks.field !== 'policy') this.#fields.get(lacks.field)?.focus();
	}

	/** Updates the fields from the model. Sets only fields whose value differs, to avoid interfering with typing. */
	draw(): void {
		const { form, policies, running, forbidden } = this.#model;
		set(this.#question, form.question);
		this.#expected.setValue(form.expected);
		for (const [field, control] of this.#fields) control.setValue(form.fields[field] ?? '');
		const own = policies.map((policy) => policy?.template ?? null);
		const chats = policies.some((policy) => policy !== null && policy.system !== null);
		this.#mode.set(
			[
				{ value: 'own', label: chats ? 'Chat template' : 'Default for the policy' },
				{ value: 'raw', label: 'None (raw question)' },
				{ value: 'custom', label: 'Custom' },
			],
			form.mode,
		);
		const template = [...new Set(own.filter((one) => one !== null))].join('  ·  ');
		setText(this.#shownTemplate, form.mode === 'own' ? template : '');
		setTitle(this.#shownTemplate, template.slice(0, 2000));
		this.#shownTemplate.hidden = form.mode !== 'own' || template === '';
		this.#templateRow.hidden = form.mode !== 'custom';
		set(this.#template, form.template);
		this.#systemRow.hidden = !chats || form.mode === 'raw';
		const usual = policies.find((policy) => policy !== null && policy.system !== null)?.system ?? '';
		set(this.#system, form.system ?? usual);
		this.#ask.setDisabled(running || forbidden !== null || policies.every((policy) => policy === null));
		this.#stop.setHidden(!running);
	}

	#setMode(mode: 'own' | 'raw' | 'custom'): void {
		const own = this.#model.policies.find((policy) => policy !== null && policy.template !== null)?.template;
		const untouched = this.#model.form.template === '{prompt}';
		this.#model.type({ mode, ...(mode === 'custom' && untouched && own ? { template: own } : {}) });
	}
}

function area(label: string, placeholder: string, rows: number): HTMLTextAreaElement {
	return element('textarea', {
		class: 'area',
		aria: { label },
		attributes: { placeholder, rows, spellcheck: 'false', maxlength: longestQuestion },
	});
}

function set(node: HTMLTextAreaElement, value: string): void {
	if (node.value !== value) node.value = value;
}
