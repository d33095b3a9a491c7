import type { ChosenPolicy } from '../../src/protocol/playgroundMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill, unseen } from '../lib/dom.ts';
import { icon } from '../lib/icons.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { PlaygroundModel } from './playgroundModel.ts';

/** Selector for the policy, or for two policies to compare. */
export class PolicyBar {
	readonly element = element('div', { class: 'policies', role: 'group', aria: { label: 'Policies' } });
	readonly #model: PlaygroundModel;
	#drawn = '';

	constructor(model: PlaygroundModel) {
		this.#model = model;
	}

	draw(): void {
		const [first, second] = this.#model.policies;
		const shown = [first, second].map((one) => [one?.name, one?.kind, one?.environment]);
		const key = JSON.stringify([shown, this.#model.forbidden]);
		if (key === this.#drawn) return;
		this.#drawn = key;
		const { host } = this.#model;
		const focused = this.element.contains(document.activeElement);
		fill(
			this.element,
			this.#policy(first, 0),
			second !== null &&
				button({
					label: 'Swap policies',
					icon: 'swap',
					appearance: 'icon',
					onClick: () => host.post({ type: 'swap' }),
				}).element,
			second !== null && this.#policy(second, 1),
			second !== null &&
				button({
					label: 'Use only the first policy',
					icon: 'close',
					appearance: 'icon',
					onClick: () => host.post({ type: 'removeSide' }),
				}).element,
			...this.#model.policies.map((policy, side) => policy !== null && this.#episode(policy, side === 0 ? 0 : 1)),
			first !== null &&
				second === null &&
				button({
					label: 'Compare with…',
					icon: 'plus',
					title: 'Ask a second policy the same question with the same seed',
					onClick: () => host.post({ type: 'choosePolicy', side: 1 }),
				}).element,
		);
		if (focused) this.element.querySelector<HTMLElement>('button')?.focus();
	}

	/** Offers to play episodes with a policy trained on them, because a question samples only the first turn. */
	#episode({ name, environment }: ChosenPolicy, side: 0 | 1): HTMLElement | null {
		if (environment === null) return null;
		const both = this.#model.policies.every((policy) => policy !== null);
		return button({
			label: both ? `Play Episode with ${plainLabel(name, 60)}…` : 'Play Episode…',
			icon: 'play',
			title: `Play an episode in ${plainLabel(environment, 120)}, and show its turns, calls and token probabilities`,
			onClick: () => this.#model.host.post({ type: 'playEpisode', side }),
		}).element;
	}

	#policy(policy: ChosenPolicy | null, side: 0 | 1): HTMLElement {
		const name = policy === null ? 'Select Policy…' : plainLabel(policy.name, 120);
		return element(
			'button',
			{
				class: 'policy',
				title: 'Select a different policy',
				attributes: { type: 'button' },
				on: { click: () => this.#model.host.post({ type: 'choosePolicy', side }) },
			},
			unseen(side === 0 ? 'Policy: ' : 'Second policy: '),
			element('strong', null, name),
			policy !== null && element('span', { class: 'quiet' }, plainLabel(policy.kind, 80)),
			icon('expand'),
		);
	}
}
