import { Disposable } from '../../src/base/disposable.ts';
import { formatNumber, formatPercent } from '../../src/base/format.ts';
import { dropdown } from '../lib/controls.ts';
import { element, setText, setTitle, unseen } from '../lib/dom.ts';
import { SelectionList } from '../lib/selectionList.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { type RewardRange, rewardBars, rewardRange } from './bars.ts';
import { commonPrefix } from './commonPrefix.ts';
import type { FilteredGroup } from './filters.ts';
import type { GroupOrder } from './order.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import type { StepRow } from './stepTable.ts';

const stepHeight = 26;
const groupHeight = 56;

/** Two lists: steps with rollouts, and groups in the open step. */
export class Browser extends Disposable {
	readonly element: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #steps: SelectionList;
	readonly #groups: SelectionList;
	readonly #stepCount = element('span', { class: 'quiet' });
	readonly #groupCount = element('span', { class: 'quiet' });
	readonly #rewardName = element('span', null, 'Reward');
	readonly #deadName = element('span', null, 'Dead');
	readonly #order;
	#stepTotal = 0;
	#range: RewardRange = { low: 0, high: 1 };
	/** Length of the common prefix of all prompts in the step. */
	#common = 0;

	constructor(model: RolloutsModel) {
		super();
		this.#model = model;
		this.#steps = this.register(
			new SelectionList({
				label: 'Steps',
				class: 'step-list',
				rowHeight: stepHeight,
				draw: (row, i) => drawStep(row, model.steps.rows[i] as StepRow, model.run?.stepless === true),
				onSelect: (i) => model.selectStep((model.steps.rows[i] as StepRow).step),
			}),
		);
		this.#groups = this.register(
			new SelectionList({
				label: 'Groups',
				class: 'group-list',
				rowHeight: groupHeight,
				draw: (row, i) => this.#drawGroup(row, model.groups[i] as FilteredGroup),
				onSelect: (i) => model.selectGroup((model.groups[i] as FilteredGroup).summary.group),
			}),
		);
		this.#order = dropdown({
			label: 'Sort groups',
			choices: [
				{ value: 'file', label: 'As sampled' },
				{ value: 'reward-high', label: 'Highest reward' },
				{ value: 'reward-low', label: 'Lowest reward' },
				{ value: 'spread', label: 'Widest spread' },
				{ value: 'correct', label: 'Most correct' },
			],
			value: model.groupOrder,
			onChange: (value) => model.setGroupOrder(value as GroupOrder),
		});
		this.element = element(
			'nav',
			{ class: 'browser', aria: { label: 'Steps and groups' } },
			element('div', { class: 'list-head' }, element('h2', null, 'Steps'), this.#stepCount),
			element(
				'div',
				{ class: 'column-names', aria: { hidden: true } },
				element('span', null, 'Step'),
				this.#rewardName,
				this.#deadName,
			),
			this.#steps.element,
			element('div', { class: 'list-head' }, element('h2', null, 'Groups'), this.#groupCount, this.#order.element),
			this.#groups.element,
		);
	}

	updateSteps(): void {
		const { rows } = this.#model.steps;
		const trainer = this.#model.run?.trainer ?? null;
		const ownName = (name: string | null | undefined) => (name && trainer ? ` (${name} of ${trainer.title})` : '');
		setTitle(this.#rewardName, plainLabel(`Mean total reward${ownName(trainer?.names.reward)}`, 200));
		setTitle(
			this.#deadName,
			plainLabel(`Percentage of groups in which all rewards are equal${ownName(trainer?.names.dead)}`, 200),
		);
		const added = this.#stepTotal === 0 ? 0 : Math.max(0, rows.length - this.#stepTotal);
		this.#stepTotal = rows.length;
		const selected = this.#model.step === null ? -1 : this.#model.steps.indexOf(this.#model.step);
		this.#steps.update(rows.length, selected, added);
		setText(this.#stepCount, rows.length === 0 ? '' : String(rows.length));
	}

	updateGroups(): void {
		const { groups, groupPosition, stepContent, groupOrder } = this.#model;
		this.#order.setValue(groupOrder);
		const all = stepContent.state === 'ready' ? stepContent.value.groups : [];
		this.#range = rewardRange(all);
		this.#common = commonPrefix(all.map(({ prompt }) => prompt));
		this.#groups.update(groups.length, groupPosition);
		setText(
			this.#groupCount,
			all.length === 0 ? '' : groups.length === all.length ? String(all.length) : `${groups.length} of ${all.length}`,
		);
	}

	#drawGroup(row: HTMLElement, { summary, rows, occurrences }: FilteredGroup): void {
		const judged = summary.correct.filter((correct) => correct !== null);
		const right = judged.filter(Boolean).length;
		const size = summary.index.length;
		const passing = rows.length < size ? new Set(rows) : null;
		const shown = this.#common > 0 ? `…${summary.prompt.slice(this.#common)}` : summary.prompt;
		const missing = this.#model.run?.trainer ? '(prompt not recorded)' : '(empty prompt)';
		const prompt = plainLabel(shown, 160) || missing;
		row.append(
			element(
				'span',
				{ class: 'group-name' },
				element('span', { class: 'group-number' }, unseen('Group '), summary.group, unseen(':')),
				element('span', { class: 'group-prompt' }, prompt),
			),
			element(
				'span',
				{ class: 'group-facts' },
				rewardBars(summary, passing, this.#range),
				fact('group-mean', 'Mean reward', ', mean reward ', formatNumber(summary.mean, 3)),
				fact(
					'group-std',
					'Standard deviation of the rewards',
					', standard deviation ',
					`±${formatNumber(summary.std, 2)}`,
				),
				judged.length > 0 && fact('group-correct', 'Correct', ', correct ', `${right}/${judged.length}`),
				summary.dead && fact('badge dead', 'All rewards are equal', ', ', 'dead'),
				passing && fact('quiet', 'Match the filters', ', matching the filters ', `${rows.length} of ${size}`),
				occurrences > 0 && fact('badge found', 'Occurrences of the search text', ', occurrences ', String(occurrences)),
			),
		);
	}
}

function fact(name: string, title: string, words: string, value: string): HTMLElement {
	return element('span', { class: name, title }, unseen(words), value);
}

function drawStep(row: HTMLElement, { step, stage, reward, dead }: StepRow, stepless: boolean): void {
	row.append(
		stepless
			? element('span', { class: 'step-number', title: 'This trainer does not record steps' }, 'unknown')
			: element('span', { class: 'step-number' }, unseen('Step '), step),
		element('span', { class: 'step-reward' }, unseen(', mean reward '), formatNumber(reward, 3)),
		element('span', { class: 'step-dead' }, unseen(', dead groups '), formatPercent(dead, 0)),
	);
	if (stage !== null) setTitle(row, `Stage ${plainLabel(stage, 60)}`);
}
