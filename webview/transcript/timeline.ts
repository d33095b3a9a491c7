import { Disposable, toDisposable } from '../../src/base/disposable.ts';
import { button } from '../lib/controls.ts';
import { element } from '../lib/dom.ts';
import { VirtualList } from '../lib/virtualList.ts';
import { MessageCard } from './messageCard.ts';
import type { TranscriptModel } from './transcriptModel.ts';

/** Virtualized list of all messages. */
export class Timeline extends Disposable {
	readonly element: HTMLElement;
	readonly #model: TranscriptModel;
	readonly #list: VirtualList;
	readonly #cards = new Map<number, MessageCard>();
	/** Messages that are visible but not loaded yet. */
	readonly #pending = new Set<number>();
	/** Message to focus once it is loaded. */
	#wanted: number | null = null;
	/** Number of reveal requests so far, used to ignore all but the latest. */
	#shown = 0;

	constructor(model: TranscriptModel) {
		super();
		this.#model = model;
		this.#list = this.register(
			new VirtualList({
				label: 'Messages',
				class: 'timeline',
				estimate: (index) => (model.open.has(index) ? 400 : 30),
				render: (index) => this.#render(index),
			}),
		);
		this.#list.element.addEventListener('keydown', (event) => this.#onKey(event));
		this.element = element(
			'section',
			{ class: 'timeline-pane', aria: { label: 'Timeline' } },
			element(
				'div',
				{ class: 'pane-head' },
				element('h2', null, 'Timeline'),
				element('span', { class: 'spacer' }),
				button({ label: 'Expand All', icon: 'expand', onClick: () => model.toggleAll(true) }).element,
				button({ label: 'Collapse All', icon: 'close', onClick: () => model.toggleAll(false) }).element,
			),
			this.#list.element,
		);
		this.register(toDisposable(() => this.#drop()));
		this.register(model.onLoaded(({ from, end }) => this.#loaded(from, end)));
	}

	/** Draws a new list of messages. */
	draw(): void {
		const { scrollTop } = this.#list.element;
		this.#drop();
		this.#list.setCount(this.#model.count);
		this.#list.element.scrollTop = scrollTop;
	}

	/** Redraws the visible messages after their findings or links have changed. */
	redraw(): void {
		const focused = [...this.#cards].find(([, card]) => card.element.contains(document.activeElement))?.[0];
		this.#drop();
		this.#list.refresh();
		if (focused !== undefined) this.#cards.get(focused)?.focus();
	}

	/** Updates the list after messages are expanded, collapsed or selected. */
	update(reveal: boolean): void {
		for (const [index, card] of this.#cards) {
			if (card.element.isConnected) card.update();
			else {
				card.dispose();
				this.#cards.delete(index);
			}
		}
		if (reveal) this.show(this.#model.selected);
	}

	/** Scrolls a message into view and focuses it. */
	show(index: number): void {
		this.#list.reveal(index);
		this.#cards.get(index)?.focus();
		this.#wanted = this.#cards.has(index) ? null : index;
		// An expanded card reaches its final height only at the end of the next frame.
		this.#shown++;
		const shown = this.#shown;
		requestAnimationFrame(() =>
			requestAnimationFrame(() => {
				if (shown !== this.#shown) return;
				this.#list.reveal(index);
				const card = this.#cards.get(index);
				card?.focus();
				card?.element.classList.remove('flash');
				void card?.element.offsetWidth;
				card?.element.classList.add('flash');
			}),
		);
	}

	#render(index: number): HTMLElement {
		this.#cards.get(index)?.dispose();
		this.#cards.delete(index);
		const message = this.#model.message(index);
		if (message === null) {
			this.#pending.add(index);
			return element(
				'div',
				{ class: 'message pending' },
				element('span', { class: 'message-number' }, `${index + 1}`),
				element('span', { class: 'quiet' }, 'Loading…'),
			);
		}
		const card = new MessageCard(message, this.#model);
		this.#cards.set(index, card);
		return card.element;
	}

	/** Replaces the placeholders of loaded messages. */
	#loaded(from: number, end: number): void {
		const ready = [...this.#pending].filter((index) => index >= from && index < end);
		for (const index of ready) this.#pending.delete(index);
		this.#list.redraw(ready);
		const wanted = this.#wanted;
		if (wanted === null || wanted < from || wanted >= end) return;
		this.#wanted = null;
		this.show(wanted);
	}

	#drop(): void {
		for (const card of this.#cards.values()) card.dispose();
		this.#cards.clear();
		this.#pending.clear();
	}

	/** When a message header has focus, Up and Down move, Right expands, and Left collapses. */
	#onKey(event: KeyboardEvent): void {
		const target = event.target as HTMLElement;
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		const onHead = target.classList.contains('message-head');
		if (!onHead && target !== this.#list.element) return;
		const { selected } = this.#model;
		const last = this.#model.count - 1;
		const to = { ArrowDown: selected + 1, ArrowUp: selected - 1, Home: 0, End: last }[event.key];
		if (to !== undefined && onHead) {
			this.#model.select(to);
			this.show(this.#model.selected);
		} else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
			this.#model.toggle(selected, event.key === 'ArrowRight');
		} else if (event.key === 'Enter' && !onHead) {
			this.show(selected);
		} else return;
		event.preventDefault();
	}
}
