import type { IDisposable } from '../../src/base/disposable.ts';
import { element, fill, setAria } from '../lib/dom.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import { type MarkKind, markKinds, markNames } from './textMarks.ts';

/** Highlight toggles, each labeled with its number of occurrences in the parsed completions. */
export class MarkLegend implements IDisposable {
	readonly element: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #buttons: ReadonlyMap<MarkKind, HTMLElement>;

	constructor(model: RolloutsModel) {
		this.#model = model;
		this.#buttons = new Map(markKinds.map((kind) => [kind, this.#button(kind)]));
		this.element = element(
			'div',
			{ class: 'mark-legend', role: 'group', aria: { label: 'Text highlights' } },
			element('span', { class: 'quiet', aria: { hidden: true } }, 'Highlights'),
			...this.#buttons.values(),
		);
		this.update([]);
	}

	/**
	 * Shows a toggle for each kind that occurs or is turned on.
	 * @param counts occurrences, one entry per completion
	 */
	update(counts: Iterable<ReadonlyMap<MarkKind, number>>): void {
		const totals = new Map<MarkKind, number>();
		for (const one of counts) for (const [kind, count] of one) totals.set(kind, (totals.get(kind) ?? 0) + count);
		let any = false;
		for (const [kind, node] of this.#buttons) {
			const marked = this.#model.marks.has(kind);
			const count = totals.get(kind) ?? 0;
			node.hidden = count === 0 && !marked;
			any ||= !node.hidden;
			setAria(node, 'pressed', marked);
			fill(
				node,
				element('span', { class: `sample m-${kind}` }, markNames[kind].name),
				count > 0 && element('span', { class: 'quiet' }, ` ${count}`),
			);
		}
		this.element.classList.toggle('nothing', !any);
	}

	dispose(): void {
		this.element.remove();
	}

	#button(kind: MarkKind): HTMLElement {
		const node = element('button', {
			class: 'chip toggle',
			attributes: { type: 'button' },
			title: markNames[kind].title,
		});
		node.addEventListener('click', () => {
			const marks = new Set(this.#model.marks);
			if (!marks.delete(kind)) marks.add(kind);
			this.#model.setMarks(marks);
		});
		return node;
	}
}
