import { formatNumber } from '../../src/base/format.ts';
import { turnRewardSum } from '../../src/core/episode/turnRewards.ts';
import { button, checkbox } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { branchName, originText } from './branchNames.ts';
import type { EpisodeModel } from './episodeModel.ts';

/** Bar for the current episode, with its origin, outcome, comparison and actions. */
export class EpisodeBar {
	readonly element: HTMLElement;
	readonly #model: EpisodeModel;
	readonly #name = element('h2', null);
	readonly #origin = element('span', { class: 'quiet' });
	readonly #outcome = element('span', { class: 'outcome' });
	readonly #remarks = element('div', { class: 'remarks' });
	readonly #compare = select('Compare with', (value) => this.#model.compare(value === '' ? null : Number(value)));
	readonly #compareField: HTMLElement;
	readonly #reward;
	readonly #replay;
	readonly #debug;
	readonly #save;
	readonly #onSave;

	constructor(model: EpisodeModel) {
		this.#model = model;
		const onShown = (act: (branch: number) => void) => () => {
			if (model.shown !== null) act(model.shown.id);
		};
		this.#reward = button({
			label: 'Get Reward',
			title: 'Call get_reward after the last turn',
			onClick: onShown((branch) => model.post({ type: 'reward', branch })),
		});
		this.#replay = button({
			label: 'Replay',
			icon: 'reset',
			title: 'Repeat the calls with the current code and compare the results',
			onClick: () => model.replay(),
		});
		this.#debug = button({
			label: 'Debug Episode',
			title: 'Play the episode in the debugger and stop in the selected turn’s tool',
			onClick: onShown((branch) => model.post({ type: 'debug', branch, turn: model.turn })),
		});
		this.#save = button({
			label: 'Save as Labeled Episode',
			title: 'Append the episode to the labeled episodes for this environment',
			onClick: onShown((branch) => model.post({ type: 'save', branch })),
		});
		this.#onSave = checkbox({
			label: 'Replay on save',
			title: 'When the code is saved, repeat the calls in this episode and highlight differences',
			checked: model.replaysOnSave,
			onChange: (checked) => model.setReplaysOnSave(checked),
		});
		this.#compareField = element(
			'span',
			{ class: 'labeled' },
			element('span', { aria: { hidden: true } }, 'Compare with'),
			this.#compare.element,
		);
		this.element = element(
			'section',
			{ class: 'episode-bar', aria: { label: 'Selected episode' } },
			element('div', { class: 'head-line' }, this.#name, this.#origin, this.#outcome),
			element(
				'div',
				{ class: 'head-line' },
				this.#reward.element,
				this.#replay.element,
				this.#debug.element,
				this.#save.element,
				this.#compareField,
				this.#onSave.element,
			),
			this.#remarks,
		);
	}

	draw(): void {
		const model = this.#model;
		const { shown, status, busy, branches } = model;
		this.element.hidden = shown === null;
		if (shown === null) return;
		setText(this.#name, branchName(shown));
		setText(
			this.#origin,
			originText(shown, (id) => model.find(id)),
		);
		const { reward, error } = shown;
		const value =
			reward === null ? null : reward.value === null ? 'no reward' : `reward ${formatNumber(reward.value, 4)}`;
		const ofTurns = turnRewardSum(shown.turns);
		fill(
			this.#outcome,
			value !== null && element('span', { class: 'badge' }, value),
			ofTurns !== null &&
				element(
					'span',
					{ class: 'badge', title: 'Sum of the turn rewards, which is part of the episode reward' },
					`turns ${formatNumber(ofTurns, 4)}`,
				),
			error !== undefined && element('span', { class: 'badge wrong' }, 'failed'),
			shown.version !== null &&
				status !== null &&
				shown.version !== status.version &&
				element(
					'span',
					{ class: 'badge', title: 'The code has changed since this episode was played' },
					'earlier code',
				),
		);
		const off = busy || status?.forbidden !== null || status.environment === null;
		this.#reward.setHidden(status?.environment?.ownsReward === false);
		this.#reward.setDisabled(off || error !== undefined || shown.origin.kind === 'recorded');
		this.#replay.setDisabled(off);
		this.#debug.setHidden(status?.debugs !== true);
		this.#debug.setDisabled(off);
		this.#save.setHidden(status?.saves !== true);
		this.#save.setDisabled(error !== undefined || shown.reset === null);
		this.#onSave.setChecked(model.replaysOnSave);
		const others = branches.filter((branch) => branch !== shown);
		this.#compareField.hidden = others.length === 0;
		this.#compare.set(
			[
				{ value: '', label: 'Nothing' },
				...others.map((branch) => ({ value: String(branch.id), label: branchName(branch) })),
			],
			model.other === null ? '' : String(model.other.id),
		);
		this.#drawRemarks();
	}

	#drawRemarks(): void {
		const { shown, other, difference } = this.#model;
		const remarks: HTMLElement[] = [];
		if (shown?.error !== undefined) {
			const { during, message, line } = shown.error;
			const where = during === 'reset' ? 'reset' : during === 'reward' ? 'get_reward' : `Turn ${shown.turns.length}`;
			remarks.push(
				element(
					'p',
					{ class: 'remark bad' },
					`${where} failed: ${plainLabel(message, 1000)}`,
					' ',
					this.#lineLink(line),
				),
			);
		}
		if (shown?.note !== undefined) remarks.push(element('p', { class: 'remark' }, plainLabel(shown.note, 1000)));
		if (other !== null && difference !== null) {
			const { first, text } = difference;
			const words =
				text ??
				(first === null
					? `No difference from ${branchName(other)}`
					: 'Only the state or the outcome of some turns differs');
			remarks.push(
				element(
					'p',
					{ class: `remark${first === null ? ' done' : ''}` },
					`${plainLabel(words, 400)}. `,
					first !== null &&
						first <= this.#model.lastTurn &&
						element(
							'button',
							{ class: 'link', attributes: { type: 'button' }, on: { click: () => this.#model.goTo(first) } },
							first === 0 ? 'Show the reset' : `Show turn ${first}`,
						),
				),
			);
		}
		fill(this.#remarks, ...remarks);
	}

	#lineLink(line: number | undefined): HTMLElement | null {
		if (line === undefined) return null;
		const open = () => this.#model.post({ type: 'openFile', line });
		return element('button', { class: 'link', attributes: { type: 'button' }, on: { click: open } }, `Line ${line}`);
	}
}
