import { formatCount, formatCounted, formatDuration } from '../../../src/base/format.ts';
import type { TreeEvent } from '../../../src/protocol/treeLog.ts';
import { element, fill, setText, setTitle } from '../../lib/dom.ts';
import { SelectionList } from '../../lib/selectionList.ts';
import { describeEvent, eventNames } from '../eventWords.ts';
import type { Change, TreeModel } from '../treeModel.ts';
import type { DetailTab } from './detailTab.ts';
import { eventsOf } from './nodeEvents.ts';

/** Maximum number of events listed. Later events take precedence. */
const limit = 20_000;

/** Events for the selected node, or for the whole search. Activating an entry shows the tree at that event. */
export class EventsTab implements DetailTab {
	readonly id = 'events';
	readonly label = 'Events';
	readonly element: HTMLElement;
	readonly #model: TreeModel;
	readonly #about = element('p', { class: 'quiet' });
	readonly #list: SelectionList;
	#numbers: readonly number[] | null = null;
	#count = 0;

	constructor(model: TreeModel) {
		this.#model = model;
		this.#list = new SelectionList({
			label: 'Events',
			class: 'events-list',
			rowHeight: 24,
			draw: (row, index) => this.#draw(row, index),
			onSelect: (index) => model.goTo(this.#number(index) + 1),
		});
		this.element = element('div', { class: 'detail-body events-body' }, this.#about, this.#list.element);
	}

	dispose(): void {
		this.#list.dispose();
	}

	update(changes: ReadonlySet<Change>): void {
		const { current: side, selected } = this.#model;
		if (side === null) return;
		if (changes.has('selection') || changes.has('events') || changes.has('sides') || changes.has('tab')) {
			if (selected === undefined) {
				this.#numbers = null;
				this.#count = side.events.length;
				setText(
					this.#about,
					`All ${formatCounted(this.#count, 'event')} in this search. Select a node to see only its events.`,
				);
			} else {
				const { numbers, count } = eventsOf(side.events, selected.id, side.events.length, limit);
				this.#numbers = numbers;
				this.#count = numbers.length;
				const described =
					count > numbers.length
						? `The last ${formatCount(numbers.length)} of ${formatCount(count)}`
						: formatCount(count);
				setText(this.#about, `${described} events for node ${selected.id}.`);
			}
		}
		this.#list.update(this.#count, this.#indexOf(side.moment - 1));
	}

	#number(index: number): number {
		return this.#numbers === null ? index : (this.#numbers[index] ?? 0);
	}

	/** Returns the index of the last listed event at or before the replay position. */
	#indexOf(number: number): number {
		if (this.#numbers === null) return number;
		return this.#numbers.findLastIndex((one) => one <= number);
	}

	#draw(row: HTMLElement, index: number): void {
		const number = this.#number(index);
		const event = this.#model.current?.events[number] as TreeEvent | undefined;
		if (event === undefined) return;
		fill(
			row,
			element('span', { class: 'event-number quiet' }, formatCount(number + 1)),
			element('span', { class: `event-name event-${event.t}` }, eventNames[event.t]),
			element('span', { class: 'event-words' }, describeEvent(event)),
			element('span', { class: 'event-time quiet' }, formatDuration(event.at)),
		);
		setTitle(row, describeEvent(event));
	}
}
