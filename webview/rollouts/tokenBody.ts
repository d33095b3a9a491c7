import type { IDisposable } from '../../src/base/disposable.ts';
import type { TokenColumns, TokenValue } from '../../src/protocol/rolloutsMessages.ts';
import { element, setText } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { appendMarked } from '../lib/trace/textBody.ts';
import { VirtualList } from '../lib/virtualList.ts';
import {
	levelClass,
	type TokenBlock,
	type TokenTable,
	tokenBlocks,
	tokenFacts,
	tokenLevel,
	tokenTable,
	valuesOf,
} from './tokenScale.ts';

const drawnWhole = 4;

/**
 * A completion token by token, coloured by a value. One tab stop; arrows move among the tokens; the strip below tells the
 * values of the token under the pointer or in focus.
 */
export class TokenBody implements IDisposable {
	readonly element: HTMLElement;
	readonly #tokens: TokenColumns;
	readonly #table: TokenTable;
	readonly #values: readonly (number | null)[];
	readonly #view: TokenValue;
	readonly #largestAdvantage: number;
	readonly #blocks: readonly TokenBlock[];
	readonly #list: VirtualList | null = null;
	readonly #surface: HTMLElement;
	readonly #facts = element('div', { class: 'token-facts', role: 'status' }, 'Point at a token for its values.');
	#current = 0;

	/** @param onPick a token was clicked, or Enter was pressed on it */
	constructor(
		label: string,
		tokens: TokenColumns,
		view: TokenValue,
		largestAdvantage = 1,
		onPick?: (token: number) => void,
	) {
		this.#tokens = tokens;
		this.#table = tokenTable(tokens);
		this.#values = valuesOf(view, tokens) ?? [];
		this.#view = view;
		this.#largestAdvantage = largestAdvantage;
		this.#blocks = tokenBlocks(tokens.text);
		if (this.#blocks.length > drawnWhole) {
			this.#list = new VirtualList({
				label,
				role: 'group',
				rowRole: 'presentation',
				class: 'text-body',
				position: 'none',
				render: (i) => this.#block(this.#blocks[i] as TokenBlock),
				estimate: (i) => Math.ceil((this.#blocks[i] as TokenBlock).characters / 48) * 22,
			});
			this.#surface = this.#list.element;
			this.#list.setCount(this.#blocks.length);
		} else {
			this.#surface = element('div', { class: 'text-body', tabIndex: 0, role: 'group', aria: { label } });
			this.#surface.append(...this.#blocks.map((block) => this.#block(block)));
		}
		// Arrows inside belong to the tokens, not to the panel.
		this.#surface.dataset.keys = 'own';
		this.#surface.addEventListener('keydown', (event) => this.#onKey(event));
		if (onPick) {
			this.#surface.addEventListener('click', (event) => {
				const token = (event.target as Element).closest<HTMLElement>('.token')?.dataset.token;
				if (token === undefined) return;
				this.#show(Number(token), true);
				onPick(Number(token));
			});
			this.#surface.addEventListener('keydown', (event) => {
				if (event.key !== 'Enter') return;
				event.preventDefault();
				onPick(this.#current);
			});
		}
		this.#surface.addEventListener('focus', () => this.#show(this.#current, true));
		this.#surface.addEventListener('pointerover', (event) => {
			const token = (event.target as Element).closest<HTMLElement>('.token');
			if (token?.dataset.token !== undefined) this.#show(Number(token.dataset.token), false);
		});
		this.element = element('div', { class: 'token-body' }, this.#surface, this.#facts);
	}

	dispose(): void {
		this.#list?.dispose();
		this.element.remove();
	}

	#block(block: TokenBlock): HTMLElement {
		const text = element('div', { class: 'block-text' });
		for (let i = block.start; i < block.end; i++) {
			const level = tokenLevel(this.#view, this.#values[i], this.#largestAdvantage);
			const token = this.#tokens.text[i] ?? '';
			const span = element('span', { class: `token ${levelClass(this.#view, level)}`, data: { token: i } });
			if (token === '') span.append('∅');
			else if (/^\n+$/.test(token)) span.append('↵'.repeat(token.length), token);
			else appendMarked(span, token, 0, token.length, []);
			if (i === this.#current) span.classList.add('current');
			text.append(span);
		}
		return element('div', { class: 'block region-plain' }, text);
	}

	#onKey(event: KeyboardEvent): void {
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
		if (by === undefined) return;
		event.preventDefault();
		event.stopPropagation();
		const next = Math.max(0, Math.min(this.#tokens.text.length - 1, this.#current + by));
		this.#show(next, true);
	}

	#show(i: number, move: boolean): void {
		const token = this.#tokens.text[i];
		if (token === undefined) return;
		if (move) {
			this.#surface.querySelector('.token.current')?.classList.remove('current');
			this.#current = i;
			this.#list?.reveal(this.#blocks.findIndex((block) => block.end > i));
			const node = this.#surface.querySelector(`[data-token="${i}"]`);
			node?.classList.add('current');
			node?.scrollIntoView({ block: 'nearest' });
		}
		setText(this.#facts, `“${plainLabel(token, 40)}” ${tokenFacts(this.#table, i)}`);
	}
}
