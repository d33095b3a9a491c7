import { formatCounted, formatNumber } from '../../src/base/format.ts';
import type { EpisodeBranch } from '../../src/protocol/episodeMessages.ts';
import { nextFocus } from '../lib/a11y.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { branchName, originText } from './branchNames.ts';
import type { EpisodeModel } from './episodeModel.ts';

/** List of episodes in the view. */
export class EpisodeList {
	readonly element: HTMLElement;
	readonly #model: EpisodeModel;
	readonly #rows = element('ul', { class: 'rows' });
	#key = '';

	constructor(model: EpisodeModel) {
		this.#model = model;
		this.element = element(
			'nav',
			{ class: 'episodes', aria: { label: 'Episodes' } },
			element('h2', null, 'Episodes'),
			this.#rows,
		);
		this.#rows.addEventListener('keydown', (event) => {
			const nodes = [...this.#rows.querySelectorAll<HTMLElement>('.row-button')];
			const next = nextFocus(event.key, nodes.indexOf(event.target as HTMLElement), nodes.length);
			if (next === null || !['ArrowUp', 'ArrowDown', 'Home', 'End'].includes(event.key)) return;
			event.preventDefault();
			event.stopPropagation();
			nodes[next]?.focus();
		});
	}

	draw(): void {
		const model = this.#model;
		const { branches, shown } = model;
		this.element.hidden = branches.length === 0;
		const rows = branches.map((branch) => ({
			branch,
			name: branchName(branch),
			facts: factsOf(branch),
			title: originText(branch, (id) => model.find(id)),
		}));
		const key = JSON.stringify([rows.map(({ name, facts, title }) => [name, facts, title]), shown?.id]);
		// Rebuilding the list would lose focus.
		if (key === this.#key) return;
		this.#key = key;
		const focused = rows.findIndex(
			({ branch }) => this.#rows.querySelector(`[data-id="${branch.id}"]`) === document.activeElement,
		);
		fill(
			this.#rows,
			...rows.map(({ branch, name, facts, title }) =>
				element(
					'li',
					{ class: 'row' },
					element(
						'button',
						{
							class: 'row-button',
							title,
							attributes: { type: 'button' },
							aria: { current: branch === shown ? true : null },
							data: { id: branch.id },
							on: { click: () => model.show(branch.id, branch === shown ? model.turn : 0) },
						},
						element('span', { class: 'row-words' }, name),
						element('span', { class: branch.error === undefined ? 'quiet' : 'failed' }, facts),
					),
					button({
						label: `Close ${name}`,
						icon: 'close',
						appearance: 'icon',
						onClick: () => model.post({ type: 'remove', branch: branch.id }),
					}).element,
				),
			),
		);
		if (focused >= 0) this.#rows.querySelectorAll<HTMLElement>('.row-button')[focused]?.focus();
	}
}

function factsOf({ turns, reward, error, reset }: EpisodeBranch): string {
	if (error !== undefined) return 'failed';
	if (reset === null) return '';
	const value = reward === null ? '' : `, reward ${reward.value === null ? 'none' : formatNumber(reward.value, 3)}`;
	return `${formatCounted(turns.length, 'turn')}${value}`;
}
