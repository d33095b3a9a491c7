import { Disposable } from '../../src/base/disposable.ts';
import { describeRule, namedStepRules, stepRule } from '../../src/core/trace/splitSteps.ts';
import type { StepRating } from '../../src/protocol/stepLabel.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill, setAria, setText, uniqueId, unseen } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { appendMarked } from '../lib/trace/textBody.ts';
import { VirtualList } from '../lib/virtualList.ts';
import { placeKey } from './chosen.ts';
import { labelAction, ratings } from './labelKeys.ts';
import { LabelModel } from './labelModel.ts';
import type { RolloutsModel } from './rolloutsModel.ts';

/** Maximum number of characters to render per step. */
const drawn = 6000;
const drawnPrompt = 1200;

/**
 * *Label Steps* view: rates each step in a completion as incorrect, neutral or correct, and saves each rating
 * immediately.
 */
export class LabelView extends Disposable {
	readonly element = element('section', { class: 'label-view', aria: { label: 'Label steps' } });
	readonly #model: RolloutsModel;
	readonly #labels: LabelModel;
	readonly #say: (text: string) => void;
	readonly #title = element('h2', { class: 'group-title' });
	readonly #progress = element('span', { class: 'quiet', role: 'status' });
	readonly #fault = element('p', { class: 'label-fault', role: 'alert' });
	readonly #prompt = element('div', { class: 'label-prompt' });
	readonly #rules = dropdown({
		label: 'Split steps by',
		showLabel: true,
		choices: [],
		value: '',
		onChange: (value) => {
			const place = this.#labels.content?.place;
			if (place) void this.#labels.open(place, value);
		},
	});
	readonly #undo = button({ label: 'Undo', icon: 'reset', title: 'Undo (u)', onClick: () => this.#labels.undo() });
	readonly #buttons: HTMLElement;
	readonly #list: VirtualList;
	readonly #prefix = uniqueId('step');
	#place = '';
	#drawnFor: unknown = null;
	#drawnAt = -1;

	constructor(model: RolloutsModel, say: (text: string) => void) {
		super();
		this.#model = model;
		this.#say = say;
		this.#labels = this.register(new LabelModel((method, params, signal) => model.ask(method, params, signal)));
		this.#list = new VirtualList({
			label: 'Steps of the completion',
			class: 'step-labels',
			role: 'listbox',
			rowRole: 'option',
			render: (i) => this.#row(i),
			onDrawn: () => this.#activate(),
			estimate: (i) => {
				const step = this.#labels.content?.steps[i];
				return 14 + 20 * Math.max(1, Math.ceil(((step?.end ?? 0) - (step?.start ?? 0)) / 90));
			},
		});
		this.register({ dispose: () => this.#list.dispose() });
		const surface = this.#list.element;
		surface.dataset.keys = 'own';
		setAria(surface, 'keyshortcuts', 'ArrowUp ArrowDown - 0 + Delete U Escape');
		surface.addEventListener('keydown', (event) => this.#onKey(event));
		this.#buttons = element(
			'div',
			{ class: 'label-buttons', role: 'toolbar', aria: { label: 'Rate the current step' } },
			...ratings.map(({ rating, name, sign, shown }) => {
				const node = button({
					label: `${sign} ${name} (${shown})`,
					title: `${name}: ${rating} in PRM800K`,
					onClick: () => this.#rate(rating),
				}).element;
				setAria(node, 'label', `${name}, key ${shown}`);
				return node;
			}),
			button({ label: 'Clear', title: 'Clear rating (Delete)', onClick: () => this.#labels.rate(null) }).element,
			this.#undo.element,
		);
		this.register(this.#labels.onChange(() => this.#draw()));
	}

	/** Shows the completion in the model. */
	update(): void {
		const place = this.#model.one;
		if (place === null) return;
		if (placeKey(place) === this.#place) return;
		this.#place = placeKey(place);
		fill(this.element, element('p', { class: 'quiet pad' }, 'Loading…'));
		this.#drawnFor = null;
		void this.#labels.open(place).then(() => this.#list.element.focus());
	}

	/** Forces a reload at the next update, because the files may have changed. */
	forget(): void {
		this.#place = '';
	}

	#draw(): void {
		const { content, failure, unsaved, current } = this.#labels;
		if (!content) {
			if (failure) {
				fill(
					this.element,
					emptyState({
						title: 'Cannot label these steps',
						text: failure.toString(),
						actions: [{ label: 'Back to Group', run: () => this.#model.setMode('group') }],
					}),
				);
			}
			return;
		}
		const { place, steps, rule } = content;
		setText(this.#title, `Label steps of #${place.index}`);
		setText(this.#progress, `${this.#labels.rated} of ${steps.length} rated · ${this.#model.placeText(place)}`);
		setText(this.#fault, unsaved ? `Not saved: ${unsaved}` : '');
		this.#fault.hidden = unsaved === null;
		this.#undo.setDisabled(!this.#labels.canUndo);
		if (this.#drawnFor !== `${this.#place} ${rule}`) {
			this.#drawnFor = `${this.#place} ${rule}`;
			this.#drawAll(rule);
			return;
		}
		this.#list.refresh();
		if (current !== this.#drawnAt) {
			this.#drawnAt = current;
			this.#list.reveal(current);
		}
	}

	#drawAll(rule: string): void {
		const content = this.#labels.content;
		if (!content) return;
		const names = [...new Set([...namedStepRules, rule])].map((value) => {
			const known = stepRule(value);
			return { value, label: known === null ? plainLabel(value, 40) : `${describeRule(known)}s` };
		});
		this.#rules.setChoices(names, rule);
		const { prompt, answer } = content.rollout;
		const text = element('div', { class: 'block-text' });
		appendMarked(text, prompt, 0, Math.min(prompt.length, drawnPrompt), []);
		if (prompt.length > drawnPrompt) text.append('…');
		fill(
			this.#prompt,
			text,
			answer !== null && element('p', { class: 'quiet' }, `Expected: ${plainLabel(answer, 200)}`),
		);
		fill(
			this.element,
			element(
				'div',
				{ class: 'one-head' },
				button({ label: 'Back to Group', icon: 'previous', onClick: () => this.#model.setMode('group') }).element,
				this.#title,
				this.#progress,
				this.#rules.element,
			),
			this.#fault,
			this.#prompt,
			this.#buttons,
			content.steps.length === 0
				? emptyState({ title: 'Nothing to label', text: 'Empty completion.', actions: [] })
				: this.#list.element,
		);
		this.#list.setCount(content.steps.length);
		this.#drawnAt = this.#labels.current;
		this.#list.reveal(this.#labels.current);
	}

	/** Updates aria-activedescendant, which can only refer to a rendered row. */
	#activate(): void {
		const id = `${this.#prefix}-${this.#labels.current}`;
		const surface = this.#list.element;
		setAria(surface, 'activedescendant', surface.querySelector(`#${id}`) ? id : null);
	}

	#row(i: number): HTMLElement {
		const { content, current } = this.#labels;
		const { start, end } = content?.steps[i] ?? { start: 0, end: 0 };
		const text = content?.text ?? '';
		const rating = content?.ratings[i] ?? null;
		const row = element('div', {
			class: `step-label${rating === null ? '' : ` rated-${rating}`}`,
			id: `${this.#prefix}-${i}`,
			aria: { selected: i === current },
		});
		const body = element('span', { class: 'block-text' });
		appendMarked(body, text, start, Math.min(end, start + drawn), []);
		if (end - start > drawn) body.append('…');
		const now = ratings.find((one) => one.rating === rating);
		row.append(
			element('span', { class: 'step-count' }, i + 1),
			body,
			unseen(now ? `, rated ${now.name}` : ', not rated'),
			element(
				'span',
				{ class: 'step-signs', aria: { hidden: true } },
				...ratings.map((one) => {
					const sign = element(
						'span',
						{ class: `sign${one.rating === rating ? ' on' : ''}`, title: one.name },
						one.sign,
					);
					sign.addEventListener('click', (event) => {
						event.stopPropagation();
						this.#labels.move(i);
						this.#rate(one.rating);
					});
					return sign;
				}),
			),
		);
		row.addEventListener('click', () => this.#labels.move(i));
		return row;
	}

	#rate(rating: StepRating): void {
		const at = this.#labels.current;
		this.#labels.rate(rating);
		this.#say(`Step ${at + 1}: ${ratings.find((one) => one.rating === rating)?.name ?? ''}`);
	}

	#onKey(event: KeyboardEvent): void {
		if (event.key === 'Escape') {
			event.preventDefault();
			event.stopPropagation();
			this.#model.setMode('group');
			return;
		}
		const undo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'z';
		if (!undo && (event.ctrlKey || event.altKey || event.metaKey)) return;
		const action = undo ? ({ kind: 'undo' } as const) : labelAction(event.key);
		if (action === null) return;
		event.preventDefault();
		event.stopPropagation();
		switch (action.kind) {
			case 'rate':
				this.#rate(action.rating);
				break;
			case 'move':
				this.#labels.move(this.#labels.current + action.by);
				break;
			case 'clear':
				this.#labels.rate(null);
				break;
			case 'undo':
				this.#labels.undo();
				break;
		}
	}
}
