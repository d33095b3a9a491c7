import type { IDisposable } from '../../src/base/disposable.ts';
import { type Behaviour, behaviours } from '../../src/core/trace/behaviours.ts';
import { element, fill, setAria } from '../lib/dom.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import { type MarkKind, markKinds, markNames } from './textMarks.ts';

/** Which marks are drawn in the texts, and how often the behaviours show in the completions that were taken apart. */
export class MarkLegend implements IDisposable {
	readonly element: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #buttons: ReadonlyMap<MarkKind, HTMLElement>;

	constructor(model: RolloutsModel) {
		this.#model = model;
		this.#buttons = new Map(markKinds.map((kind) => [kind, this.#button(kind)]));
		this.element = element(
			'div',
			{ class: 'mark-legend', role: 'group', aria: { label: 'Marks in the texts' } },
			element('span', { class: 'quiet', aria: { hidden: true } }, 'Mark'),
			...this.#buttons.values(),
		);
		this.update([]);
	}

	/** @param counts of the behaviours, one entry a completion */
	update(counts: Iterable<ReadonlyMap<Behaviour, number>>): void {
		const totals = new Map<string, number>();
		for (const one of counts) {
			for (const [behaviour, count] of one) totals.set(behaviour, (totals.get(behaviour) ?? 0) + count);
		}
		for (const [kind, node] of this.#buttons) {
			setAria(node, 'pressed', this.#model.marks.has(kind));
			const behaviour = behaviours.find((one) => kind === `behaviour-${one}`);
			const count = behaviour === undefined ? 0 : (totals.get(behaviour) ?? 0);
			fill(
				node,
				element('span', { class: `sample m-${kind}` }, markNames[kind].name),
				count > 0 && element('span', { class: 'quiet' }, ` ${count}`),
			);
		}
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
