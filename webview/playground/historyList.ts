import { Disposable } from '../../src/base/disposable.ts';
import { historyRows, isRunning } from '../../src/core/playground/history.ts';
import type { Exchange } from '../../src/protocol/playgroundMessages.ts';
import { rovingFocus } from '../lib/a11y.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { tokenLabel } from '../lib/tokens/alternativeList.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { PlaygroundModel } from './playgroundModel.ts';

const deepest = 6;

/** List of past questions, with branches indented below their origin. */
export class HistoryList extends Disposable {
	readonly element = element('nav', { class: 'history', aria: { label: 'History' } });
	readonly #model: PlaygroundModel;
	readonly #list = element('ol', { class: 'history-list' });
	readonly #undo = button({
		label: 'Undo',
		icon: 'reset',
		appearance: 'icon',
		title: 'Undo the last question or branch',
		onClick: () => this.#model.host.post({ type: 'undo' }),
	});
	readonly #redo = button({
		label: 'Redo',
		icon: 'continue',
		appearance: 'icon',
		title: 'Redo',
		onClick: () => this.#model.host.post({ type: 'redo' }),
	});
	readonly #clear = button({
		label: 'Clear history',
		icon: 'close',
		appearance: 'icon',
		onClick: () => this.#model.host.post({ type: 'clear' }),
	});
	readonly #focus = this.register(rovingFocus(this.#list, () => [...this.#list.querySelectorAll('button')]));
	#drawn = '';

	constructor(model: PlaygroundModel) {
		super();
		this.#model = model;
		this.element.append(
			element(
				'div',
				{ class: 'history-head' },
				element('h2', null, 'History'),
				element('span', { class: 'spacer' }),
				this.#undo.element,
				this.#redo.element,
				this.#clear.element,
			),
			this.#list,
		);
	}

	draw(): void {
		const { exchanges, current, undone, running } = this.#model;
		this.element.hidden = exchanges.length === 0 && undone === 0;
		this.#undo.setDisabled(exchanges.length === 0 || running);
		this.#redo.setDisabled(undone === 0 || running);
		this.#clear.setDisabled(exchanges.length === 0 || running);
		const key = JSON.stringify([current, exchanges.map((one) => [one.id, isRunning(one), mark(one)])]);
		if (key === this.#drawn) return;
		this.#drawn = key;
		const focused = this.#list.contains(document.activeElement);
		fill(
			this.#list,
			...historyRows(exchanges).map(({ exchange, depth }) => {
				const words = wordsOf(exchange);
				const row = element(
					'button',
					{
						class: 'history-row',
						title: plainLabel(words, 400),
						tabIndex: exchange.id === current ? 0 : -1,
						aria: { current: exchange.id === current ? 'true' : null },
						attributes: { type: 'button' },
						on: { click: () => this.#model.host.post({ type: 'show', exchange: exchange.id }) },
					},
					element('span', { class: 'history-words' }, depth > 0 && '↳ ', plainLabel(words, 120)),
					' ',
					element('span', { class: 'quiet' }, mark(exchange)),
				);
				row.style.paddingInlineStart = `${8 + Math.min(depth, deepest) * 12}px`;
				return element('li', null, row);
			}),
		);
		this.#focus.settle();
		if (focused) this.#list.querySelector<HTMLElement>('[aria-current]')?.focus();
	}
}

function wordsOf({ question, branch }: Exchange): string {
	if (branch === null) return question;
	return `token ${branch.token + 1}: “${tokenLabel(branch.to)}” for “${tokenLabel(branch.from)}”`;
}

/** Returns one or two symbols for the result of an exchange. */
function mark(exchange: Exchange): string {
	if (isRunning(exchange)) return '…';
	const signs = exchange.sides.map(({ state, samples }) => {
		if (state === 'failed') return 'failed';
		const checked = samples.filter(({ check }) => check !== null && check.correct !== null);
		if (checked.length === 0) return '';
		const right = checked.filter(({ check }) => check?.correct === true).length;
		if (checked.length > 1) return `${right}/${checked.length}`;
		return right === 1 ? 'right' : 'wrong';
	});
	const shown = signs.filter((sign) => sign !== '');
	return shown.join(', ');
}
