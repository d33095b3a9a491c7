import type { IDisposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted } from '../../src/base/format.ts';
import { r1Tags } from '../../src/core/trace/trace.ts';
import type { RowPart } from '../../src/protocol/datasetMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { noTags, traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import type { DatasetModel } from './datasetModel.ts';

/** Full view of a row: prompt, solution or completion (with thinking and answer separated), answer, other columns. */
export class RowDetailView implements IDisposable {
	readonly element = element('div', { class: 'detail' });
	readonly #model: DatasetModel;
	#bodies: IDisposable[] = [];
	#drawn = '';

	constructor(model: DatasetModel) {
		this.#model = model;
	}

	focus(): void {
		this.element.querySelector<HTMLElement>('.detail-head')?.focus();
	}

	update(): void {
		const { open } = this.#model;
		const key = JSON.stringify(open);
		if (key === this.#drawn) return;
		const focused = this.element.contains(document.activeElement);
		this.#drawn = key;
		this.dispose();
		if (open === null) {
			fill(this.element, element('p', { class: 'quiet' }, 'Select a row to see its full content.'));
			return;
		}
		const { detail, failure, row } = open;
		const head = element('h2', { class: 'detail-head', tabIndex: -1 }, `Row ${formatCount(row + 1)}`);
		if (detail === null) {
			fill(this.element, head, element('p', { class: 'quiet' }, failure ?? 'Reading\u2026'));
			return;
		}
		fill(this.element, head, ...this.#remarks(), ...detail.parts.map((part) => this.#part(part)));
		if (focused) head.focus({ preventScroll: true });
	}

	dispose(): void {
		for (const body of this.#bodies.splice(0)) body.dispose();
	}

	#remarks(): HTMLElement[] {
		const detail = this.#model.open?.detail;
		if (!detail) return [];
		const remark = (text: string, kind = '') => element('p', { class: `remark ${kind}` }, text);
		const list: HTMLElement[] = [];
		if (detail.fault !== null) list.push(remark(`This row ${detail.fault}.`, 'bad'));
		if (detail.refused !== null)
			list.push(remark(`Invalid for training: this row ${plainLabel(detail.refused, 400)}.`));
		if (detail.repeats !== null) {
			const first = detail.repeats;
			const go = element(
				'button',
				{ class: 'link', attributes: { type: 'button' }, on: { click: () => void this.#model.openRow(first, null) } },
				`row ${formatCount(first + 1)}`,
			);
			list.push(element('p', { class: 'remark' }, 'Exact or near duplicate of ', go, '.'));
		}
		for (const { against, test, words } of detail.findings) {
			list.push(
				element(
					'p',
					{ class: 'remark bad' },
					`Overlaps with ${plainLabel(against)}, row ${formatCount(test + 1)}: `,
					element('q', null, plainLabel(words, 400)),
				),
			);
		}
		if (detail.heldOut) list.push(element('p', { class: 'quiet' }, 'Held out, based on the hash of its prompt.'));
		return list;
	}

	#part({ kind, title, text, length }: RowPart): HTMLElement {
		const name = plainLabel(title);
		const head = element(
			'div',
			{ class: 'part-head' },
			element('h3', null, name),
			element(
				'span',
				{ class: 'quiet' },
				length > text.length ? `first ${formatCount(text.length)} of ${formatCounted(length, 'character')}` : '',
			),
			button({
				label: `Copy ${name}`,
				appearance: 'icon',
				icon: 'copy',
				onClick: () => this.#model.post({ type: 'copy', text }),
			}).element,
		);
		const tagged = (kind === 'completion' || kind === 'solution') && /<(think|answer)>/.test(text);
		const body = new TextBody({
			label: name,
			trace: traceCompletion(text, tagged ? r1Tags : noTags),
			found: [],
			behaviors: false,
		});
		this.#bodies.push(body);
		return element(
			'section',
			{ class: `part part-${kind}` },
			head,
			element('div', { class: 'card-body' }, body.element),
		);
	}
}
