import {
	type FormField,
	type FormInputs,
	formArguments,
	formFields,
	formInputs,
} from '../../src/core/episode/toolForm.ts';
import type { ToolCall } from '../../src/protocol/episode.ts';
import { button } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { ArgumentField } from './argumentField.ts';
import { callText } from './callText.ts';
import type { EpisodeModel } from './episodeModel.ts';

/** Form for the next turn's calls, generated from the JSON schema of the selected tool. */
export class CallForm {
	readonly element = element('form', { class: 'next', aria: { label: 'Next turn' } });
	readonly #model: EpisodeModel;
	readonly #title = element('h3', null);
	readonly #hint = element('span', { class: 'quiet' });
	readonly #tool = select('Tool', (tool) => this.#model.type({ tool }));
	readonly #description = element('p', { class: 'quiet tool-description' });
	readonly #fields = element('div', { class: 'fields' });
	readonly #pending = element('ul', { class: 'pending', aria: { label: 'Other calls in this turn' } });
	readonly #send;
	readonly #add;
	readonly #use;
	#shown: readonly ArgumentField[] = [];
	#key = '';

	constructor(model: EpisodeModel) {
		this.#model = model;
		this.#send = button({
			label: 'Send',
			icon: 'play',
			appearance: 'primary',
			title: 'Make the call (Ctrl+Enter, or Cmd+Enter)',
			onClick: () => this.send(),
		});
		this.#add = button({
			label: 'Add Call',
			icon: 'plus',
			title: 'Make this call and another one in the same turn',
			onClick: () => {
				const call = this.#call();
				if (call !== null) model.addPending(call);
			},
		});
		this.#use = button({
			label: 'Edit Selected Call',
			title: 'Copy the call in the selected turn into the form',
			onClick: () => this.#useShown(),
		});
		this.element.addEventListener('submit', (event) => event.preventDefault());
		this.element.addEventListener('keydown', (event) => {
			if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
			event.preventDefault();
			this.send();
		});
		this.element.append(
			element('div', { class: 'head-line' }, this.#title, this.#hint),
			element(
				'div',
				{ class: 'head-line' },
				element('span', { class: 'labeled' }, element('span', { aria: { hidden: true } }, 'Tool'), this.#tool.element),
				this.#use.element,
			),
			this.#description,
			this.#fields,
			this.#pending,
			element('div', { class: 'head-line' }, this.#send.element, this.#add.element),
		);
	}

	draw(): void {
		const { shown, status, turn, lastTurn, busy, form } = this.#model;
		const tools = status?.environment?.tools ?? [];
		this.element.hidden = shown === null || tools.length === 0 || status?.forbidden !== null;
		if (shown === null || this.element.hidden) return;
		const failed = shown.error !== undefined && turn === lastTurn;
		const atEnd = turn === lastTurn && shown.origin.kind !== 'recorded';
		setText(this.#title, atEnd ? 'Next turn' : `Branch after ${turn === 0 ? 'the reset' : `turn ${turn}`}`);
		setText(this.#hint, this.#hintText(failed));
		const tool = tools.find(({ name }) => name === form.tool) ?? tools[0];
		this.#tool.set(
			tools.map(({ name }) => ({ value: name, label: plainLabel(name, 80) })),
			tool?.name ?? '',
		);
		setText(this.#description, tool?.fault ?? tool?.schema?.description ?? '');
		this.#drawFields(tool?.name ?? '', tool?.schema == null ? null : formFields(tool.schema));
		this.#drawPending(form.pending);
		const selected = shown.turns[turn - 1];
		this.#use.setHidden(selected === undefined || selected.calls.length === 0);
		this.#send.setDisabled(busy || failed || shown.reset === null);
		this.#add.setDisabled(failed || shown.reset === null);
	}

	/** Makes the calls, or shows the errors in the arguments. */
	send(): void {
		const call = this.#call();
		if (call !== null) this.#model.send([...this.#model.form.pending, call]);
	}

	#hintText(failed: boolean): string {
		const { shown, turn } = this.#model;
		if (failed) return 'The episode has failed. Go back to an earlier turn to continue from there.';
		const done = turn === 0 ? shown?.reset?.done : shown?.turns[turn - 1]?.done;
		return done === true ? 'The environment reports that the episode is done.' : '';
	}

	#drawFields(tool: string, fields: readonly FormField[] | null): void {
		const key = JSON.stringify([tool, fields]);
		const inputs = this.#model.form.inputs[tool] ?? {};
		if (key !== this.#key) {
			this.#key = key;
			this.#shown = (fields ?? []).map(
				(field) =>
					new ArgumentField(field, (input) => {
						const { form } = this.#model;
						this.#model.type({
							inputs: { ...form.inputs, [tool]: { ...form.inputs[tool], [field.name]: input } },
						});
					}),
			);
			fill(this.#fields, ...this.#shown.map((field) => field.element));
			if (fields !== null && fields.length === 0) fill(this.#fields, element('p', { class: 'quiet' }, 'No arguments.'));
		}
		for (const field of this.#shown) field.draw(inputs[field.name]);
	}

	#drawPending(calls: readonly ToolCall[]): void {
		fill(
			this.#pending,
			...calls.map((call, i) =>
				element(
					'li',
					{ class: 'row' },
					element('code', null, callText(call, 100)),
					button({
						label: `Remove ${callText(call, 60)}`,
						icon: 'close',
						appearance: 'icon',
						onClick: () => this.#model.type({ pending: calls.filter((_, k) => k !== i) }),
					}).element,
				),
			),
		);
		this.#pending.hidden = calls.length === 0;
	}

	/** Returns the call in the form, or null after marking its errors. */
	#call(): ToolCall | null {
		const { status, form } = this.#model;
		const tools = status?.environment?.tools ?? [];
		const tool = tools.find(({ name }) => name === form.tool) ?? tools[0];
		if (tool === undefined) return null;
		const fields = tool.schema === null ? [] : formFields(tool.schema);
		const read = formArguments(fields, form.inputs[tool.name] ?? {});
		for (const field of this.#shown) field.setFault(read.ok ? '' : (read.faults[field.name] ?? ''));
		if (read.ok) return { name: tool.name, arguments: read.arguments };
		this.#shown.find(({ name }) => Object.hasOwn(read.faults, name))?.focus();
		return null;
	}

	#useShown(): void {
		const { shown, turn, status, form } = this.#model;
		const call = shown?.turns[turn - 1]?.calls.at(-1);
		const tool = status?.environment?.tools.find(({ name }) => name === call?.name);
		if (call === undefined || tool?.schema == null) {
			setText(this.#hint, 'The environment has no tool with this name.');
			return;
		}
		const inputs: FormInputs | null = formInputs(formFields(tool.schema), call.arguments);
		if (inputs === null) {
			setText(this.#hint, 'The form cannot represent these arguments.');
			return;
		}
		this.#model.type({ tool: tool.name, inputs: { ...form.inputs, [tool.name]: inputs } });
	}
}
