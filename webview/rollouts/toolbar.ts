import { Disposable } from '../../src/base/disposable.ts';
import { formatCounted } from '../../src/base/format.ts';
import type { RolloutSplit } from '../../src/protocol/rolloutSplit.ts';
import { button, dropdown, slider } from '../lib/controls.ts';
import { element, fill, setAria, setText } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { RolloutsModel } from './rolloutsModel.ts';

/** Toolbar with step navigation and the Follow toggle. */
export class Toolbar extends Disposable {
	readonly element: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #older;
	readonly #newer;
	readonly #scrubber;
	readonly #input: HTMLInputElement;
	readonly #follow;
	readonly #unseen;
	readonly #split;
	readonly #trainer;
	#splits = '';
	readonly #faults = element('span', { class: 'step-faults' });

	constructor(model: RolloutsModel, actions: { help(): void; dashboard(): void; browse(): boolean; notes(): void }) {
		super();
		this.#model = model;
		this.#older = button({
			label: 'Older step',
			icon: 'previous',
			appearance: 'icon',
			onClick: () => model.moveStep(-1),
		});
		this.#newer = button({ label: 'Newer step', icon: 'next', appearance: 'icon', onClick: () => model.moveStep(1) });
		this.#scrubber = slider({
			label: 'Step',
			min: 0,
			max: 0,
			step: 1,
			value: 0,
			format: (value) => this.#stepAt(value),
			onInput: (value) => this.#scrub(value),
		});
		this.#input = this.#scrubber.element.querySelector('input') as HTMLInputElement;
		this.#follow = button({
			label: 'Follow',
			icon: 'follow',
			appearance: 'icon',
			title: 'Follow new steps',
			pressed: model.follow,
			onClick: () => model.setFollow(!model.follow),
		});
		this.#unseen = button({ label: '', onClick: () => model.setFollow(true) });
		this.#unseen.element.classList.add('unseen');
		this.#split = dropdown({
			label: 'Rollouts',
			choices: [{ value: 'train', label: 'Training' }],
			value: model.split,
			onChange: (value) => model.setSplit(value as RolloutSplit),
		});
		this.#trainer = button({
			label: 'About this format',
			title: 'What the trainer’s files record and what they omit',
			onClick: actions.notes,
		});
		this.#trainer.setHidden(true);
		const browse = button({
			label: 'Steps and groups',
			icon: 'log',
			appearance: 'icon',
			pressed: false,
			onClick: () => browse.setPressed(actions.browse()),
		});
		browse.element.classList.add('browse');
		this.element = element(
			'div',
			{ class: 'toolbar', role: 'toolbar', aria: { label: 'Step' } },
			browse.element,
			this.#split.element,
			this.#older.element,
			this.#scrubber.element,
			this.#newer.element,
			this.#follow.element,
			this.#unseen.element,
			this.#faults,
			element('span', { class: 'spacer' }),
			this.#trainer.element,
			button({ label: 'Open dashboard', icon: 'chart', appearance: 'icon', onClick: actions.dashboard }).element,
			button({ label: 'Keyboard shortcuts', icon: 'help', appearance: 'icon', onClick: actions.help }).element,
		);
	}

	update(): void {
		const { steps, step, follow, live, unseen, stepContent, splits, split, run } = this.#model;
		this.#split.setHidden(splits.length < 2 && !splits.includes('validation'));
		const key = `${splits.join()}/${split}`;
		if (key !== this.#splits) {
			this.#splits = key;
			const names = { train: 'Training', validation: 'Validation' } as const;
			this.#split.setChoices(
				splits.map((value) => ({ value, label: names[value] })),
				split,
			);
			this.#split.setDisabled(splits.length < 2);
		}
		const trainer = run?.trainer ?? null;
		this.#trainer.setHidden(trainer === null);
		if (trainer) {
			const { title, notes } = trainer;
			const count = formatCounted(notes.length, 'note');
			this.#trainer.setLabel(`${plainLabel(title, 40)}${notes.length > 0 ? ` · ${count}` : ''}`);
		}
		const last = steps.rows.length - 1;
		const at = step === null ? -1 : steps.nearest(step);
		this.#input.max = String(Math.max(0, last));
		this.#scrubber.setValue(at === -1 ? 0 : last - at);
		this.#scrubber.setDisabled(last < 1);
		this.#older.setDisabled(at === -1 || at === last);
		this.#newer.setDisabled(at <= 0);
		this.#follow.setHidden(!live);
		this.#follow.setPressed(follow);
		this.#unseen.setHidden(unseen === 0 || follow);
		this.#unseen.setLabel(formatCounted(unseen, 'new step'));
		const faults = stepContent.state === 'ready' ? stepContent.value.faults : null;
		if (!faults || faults.unreadable === 0) {
			fill(this.#faults);
			return;
		}
		const text = formatCounted(faults.unreadable, 'unreadable line', 'unreadable lines');
		const badge = element('span', { class: 'badge warning', title: faults.examples.join('\n'), tabIndex: 0 });
		setText(badge, text);
		setAria(badge, 'label', `${text}: ${faults.examples.join('; ')}`);
		badge.setAttribute('role', 'note');
		fill(this.#faults, badge);
	}

	/** Returns the step number for a slider position, counted from the oldest step, or a dash if there are no steps. */
	#stepAt(position: number): string {
		const { rows } = this.#model?.steps ?? { rows: [] };
		const row = rows[rows.length - 1 - position];
		return row && this.#model.run?.stepless !== true ? String(row.step) : '–';
	}

	#scrub(position: number): void {
		const { rows } = this.#model.steps;
		const row = rows[rows.length - 1 - position];
		if (row) this.#model.selectStep(row.step);
	}
}
