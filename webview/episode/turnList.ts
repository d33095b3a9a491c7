import { formatCounted, formatDuration, formatNumber } from '../../src/base/format.ts';
import type { BranchDifference } from '../../src/core/episode/branchDifferences.ts';
import type { EpisodeBranch, ShownTurn } from '../../src/protocol/episodeMessages.ts';
import { element, fill, unseen } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { callText } from './callText.ts';
import type { EpisodeModel } from './episodeModel.ts';

/** List of turns in the current episode. The first entry is the reset. */
export class TurnList {
	readonly element: HTMLElement;
	readonly #model: EpisodeModel;
	readonly #list = element('ol', { class: 'rows turns-rows' });
	#drawn: { readonly branch: EpisodeBranch; readonly difference: BranchDifference | null } | null = null;

	constructor(model: EpisodeModel) {
		this.#model = model;
		this.element = element(
			'nav',
			{ class: 'turns', aria: { label: 'Turns' } },
			element('h2', null, 'Turns'),
			this.#list,
		);
	}

	draw(): void {
		const { shown, difference, turn } = this.#model;
		this.element.hidden = shown === null;
		if (shown === null) return;
		if (this.#drawn?.branch !== shown || this.#drawn.difference !== difference) {
			this.#drawn = { branch: shown, difference };
			const focused = [...this.#list.children].findIndex((node) => node.contains(document.activeElement));
			fill(
				this.#list,
				this.#row(0, 'Reset', resetMarks(shown, difference)),
				...shown.turns.map((one, i) => this.#row(i + 1, callsText(one), turnMarks(shown, i, difference))),
			);
			if (focused >= 0) this.#button(focused)?.focus();
		}
		for (const [i, node] of [...this.#list.children].entries()) {
			const row = node.firstElementChild;
			if (i === turn) {
				if (row?.getAttribute('aria-current') !== 'true') {
					row?.setAttribute('aria-current', 'true');
					row?.scrollIntoView({ block: 'nearest' });
				}
			} else row?.removeAttribute('aria-current');
		}
	}

	#button(index: number): HTMLElement | null {
		return this.#list.children[index]?.querySelector('button') ?? null;
	}

	#row(turn: number, words: string, marks: readonly (HTMLElement | false)[]): HTMLElement {
		return element(
			'li',
			{ class: 'row' },
			element(
				'button',
				{
					class: 'row-button',
					attributes: { type: 'button' },
					on: { click: () => this.#model.goTo(turn) },
				},
				element('span', { class: 'turn-number quiet', aria: { hidden: true } }, String(turn)),
				unseen(`Turn ${turn}: `),
				element('span', { class: 'row-words' }, words),
				...marks,
			),
		);
	}
}

function callsText({ calls }: ShownTurn): string {
	const [first] = calls;
	if (first === undefined) return 'No calls';
	const more = calls.length > 1 ? ` and ${formatCounted(calls.length - 1, 'more call')}` : '';
	return `${callText(first, 60)}${more}`;
}

function resetMarks({ reset, error }: EpisodeBranch, difference: BranchDifference | null): (HTMLElement | false)[] {
	const differs = difference !== null && (difference.reset.observation || difference.reset.state.length > 0);
	return [
		error?.during === 'reset' && mark('failed', 'failed'),
		differs && mark('differs', 'differs'),
		reset?.done === true && mark('done', ''),
	];
}

const kinds = { differs: 'differs', calls: 'other calls', only: 'only here', missing: '', same: '' } as const;

function turnMarks(branch: EpisodeBranch, i: number, difference: BranchDifference | null): (HTMLElement | false)[] {
	const turn = branch.turns[i] as ShownTurn;
	const last = i === branch.turns.length - 1;
	const kind = difference === null ? '' : kinds[difference.turns[i]?.kind ?? 'same'];
	const failures = turn.results.filter(({ failed }) => failed).length;
	const ended = turn.done === true && branch.turns[i - 1]?.done !== true;
	return [
		last && branch.error?.during === 'call' && mark('failed', 'failed'),
		failures > 0 && mark('error', 'failed'),
		ended && mark('done', 'done'),
		kind !== '' && mark(kind, 'differs'),
		typeof turn.reward === 'number' &&
			element('span', { class: 'quiet turn-reward', title: 'Turn reward' }, formatNumber(turn.reward, 3)),
		turn.durationMs !== null &&
			element('span', { class: 'quiet turn-time' }, plainLabel(formatDuration(turn.durationMs / 1000))),
	];
}

function mark(words: string, look: string): HTMLElement {
	return element('span', { class: `mark ${look}` }, words);
}
