import type { IDisposable } from '../../../src/base/disposable.ts';
import { element } from '../dom.ts';
import { appendMarked } from '../trace/textBody.ts';
import { VirtualList } from '../virtualList.ts';
import { type TokenBlock, tokenBlocks } from './tokenBlocks.ts';

const drawnWhole = 4;

export interface TokenTextOptions {
	readonly label: string;
	readonly text: readonly string[];
	/** Initial token for keyboard navigation. Default: the first token. */
	readonly start?: number;
	/** Returns a class to add to a token's element, in addition to `token`. */
	readonly classOf: (token: number) => string;
	/** Called when a token is hovered, or (if `moved`) reached with the keyboard. */
	readonly onShow: (token: number, moved: boolean) => void;
	/** Called when the pointer leaves the tokens. */
	readonly onLeave?: () => void;
	/** Called when a token is clicked, or Enter is pressed on it. */
	readonly onPick?: (token: number) => void;
}

/** Text displayed token by token, with one tab stop. Arrow keys move between tokens. Long text is virtualized. */
export class TokenText implements IDisposable {
	readonly element: HTMLElement;
	readonly #options: TokenTextOptions;
	readonly #blocks: readonly TokenBlock[];
	readonly #list: VirtualList | null = null;
	#current: number;

	constructor(options: TokenTextOptions) {
		const { label, text, onPick, onLeave } = options;
		this.#options = options;
		this.#current = options.start ?? 0;
		this.#blocks = tokenBlocks(text);
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
			this.element = this.#list.element;
			this.#list.setCount(this.#blocks.length);
		} else {
			this.element = element('div', { class: 'text-body', tabIndex: 0, role: 'group', aria: { label } });
			this.element.append(...this.#blocks.map((block) => this.#block(block)));
		}
		// Arrow keys move between tokens and are not handled by the panel.
		this.element.dataset.keys = 'own';
		this.element.addEventListener('keydown', (event) => this.#onKey(event));
		if (onPick) {
			this.element.addEventListener('click', (event) => {
				const token = tokenOf(event);
				if (token === null) return;
				this.move(token);
				onPick(token);
			});
		}
		this.element.addEventListener('focus', () => this.move(this.#current));
		this.element.addEventListener('pointerover', (event) => {
			const token = tokenOf(event);
			if (token !== null) this.#options.onShow(token, false);
			else onLeave?.();
		});
		if (onLeave) this.element.addEventListener('pointerleave', onLeave);
	}

	/** Current token for keyboard navigation. */
	get current(): number {
		return this.#current;
	}

	/** Returns the element of a token if it is rendered. */
	elementOf(token: number): HTMLElement | null {
		return this.element.querySelector(`[data-token="${token}"]`);
	}

	/** Moves to a token and scrolls it into view. */
	move(token: number): void {
		if (this.#options.text[token] === undefined) return;
		this.element.querySelector('.token.current')?.classList.remove('current');
		this.#current = token;
		this.#list?.reveal(this.#blocks.findIndex((block) => block.end > token));
		const node = this.elementOf(token);
		node?.classList.add('current');
		node?.scrollIntoView({ block: 'nearest' });
		this.#options.onShow(token, true);
	}

	/** Updates the classes of all tokens. */
	refresh(): void {
		if (this.#list) this.#list.refresh();
		else this.element.replaceChildren(...this.#blocks.map((block) => this.#block(block)));
	}

	dispose(): void {
		this.#list?.dispose();
		this.element.remove();
	}

	#block(block: TokenBlock): HTMLElement {
		const { text: tokens, classOf } = this.#options;
		const text = element('div', { class: 'block-text' });
		for (let i = block.start; i < block.end; i++) {
			const token = tokens[i] ?? '';
			const span = element('span', { class: `token ${classOf(i)}`, data: { token: i } });
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
		if (event.key === 'Enter' && this.#options.onPick) {
			event.preventDefault();
			this.#options.onPick(this.#current);
			return;
		}
		const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
		if (by === undefined) return;
		event.preventDefault();
		event.stopPropagation();
		this.move(Math.max(0, Math.min(this.#options.text.length - 1, this.#current + by)));
	}
}

function tokenOf(event: Event): number | null {
	const token = (event.target as Element).closest<HTMLElement>('.token')?.dataset.token;
	return token === undefined ? null : Number(token);
}
