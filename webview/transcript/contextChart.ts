import { formatCount, formatCounted } from '../../src/base/format.ts';
import type { ContextPoint } from '../../src/core/transcript/tokenTotals.ts';
import { element, fill, unseen } from '../lib/dom.ts';
import type { TranscriptModel } from './transcriptModel.ts';

const shown = 400;

/** Token counts per model call (carried over, new, completion), with totals. */
export class ContextChart {
	readonly element = element('section', { class: 'context', aria: { label: 'Tokens' } });
	readonly #model: TranscriptModel;

	constructor(model: TranscriptModel) {
		this.#model = model;
	}

	draw(): void {
		const { inspection } = this.#model;
		this.element.hidden = inspection === null;
		if (inspection === null) return;
		const { points, pointCount, totals } = inspection;
		fill(this.element, element('h2', null, 'Tokens'));
		if (points.length === 0) {
			this.element.append(element('p', { class: 'quiet' }, 'No token usage reported.'));
			return;
		}
		const facts: (readonly [string, number])[] = [
			['Prompt', totals.prompt],
			['Completion', totals.completion],
			['Total', totals.total],
		];
		if (totals.cached > 0) facts.push(['Cached', totals.cached]);
		if (totals.reasoning > 0) facts.push(['Reasoning', totals.reasoning]);
		const largest = Math.max(1, ...points.map(({ prompt, completion }) => prompt + completion));
		this.element.append(
			element(
				'dl',
				{ class: 'totals' },
				...facts.map(([name, count]) =>
					element('div', null, element('dt', null, name), element('dd', null, formatCount(count))),
				),
			),
		);
		if (totals.counted < totals.answers) {
			this.element.append(
				element(
					'p',
					{ class: 'quiet' },
					`Token usage is known for ${formatCount(totals.counted)} of ${formatCounted(totals.answers, 'response')}.`,
				),
			);
		}
		this.element.append(
			element(
				'p',
				{ class: 'legend', aria: { hidden: true } },
				element('span', { class: 'swatch carried' }),
				'carried over',
				element('span', { class: 'swatch added' }),
				'new in prompt',
				element('span', { class: 'swatch written' }),
				'completion',
			),
			element(
				'ol',
				{ class: 'growth', aria: { label: 'Context size per model call' } },
				...points.slice(0, shown).map((point) => this.#row(point, largest)),
			),
		);
		if (pointCount > shown) {
			this.element.append(element('p', { class: 'quiet' }, `and ${formatCounted(pointCount - shown, 'more call')}`));
		}
	}

	#row({ message, prompt, completion, added }: ContextPoint, largest: number): HTMLElement {
		const fresh = Math.min(prompt, Math.max(0, added));
		const part = (kind: string, tokens: number): HTMLElement => {
			const node = element('span', { class: `part ${kind}` });
			node.style.width = `${(100 * tokens) / largest}%`;
			return node;
		};
		const change = added < 0 ? `${formatCount(-added)} fewer` : `${formatCount(fresh)} new`;
		return element(
			'li',
			null,
			element(
				'button',
				{
					class: 'growth-row',
					attributes: { type: 'button' },
					title: `${formatCount(prompt)} prompt (${change}) + ${formatCount(completion)} completion`,
					on: { click: () => this.#model.jump(message) },
				},
				element('span', { class: 'growth-message' }, unseen('Message '), `${message + 1}`),
				element(
					'span',
					{ class: 'bar' },
					part('carried', prompt - fresh),
					part('added', fresh),
					part('written', completion),
				),
				unseen(`${formatCount(prompt)} prompt tokens, ${change}, and ${formatCount(completion)} completion tokens: `),
				element('span', { class: 'growth-number' }, formatCount(prompt + completion)),
			),
		);
	}
}
