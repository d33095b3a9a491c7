import { formatCounted, formatNumber } from '../../src/base/format.ts';
import { element, setText } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { row } from './formRow.ts';
import type { NewSearchModel } from './newSearchModel.ts';

const suggested = 'suggested';
const separator = 'separator';
/** Available rules. */
const rules = [
	...['lines', 'paragraphs', 'sentences'],
	...[2, 4, 8, 16, 32, 64, 128].map((size) => `tokens-${size}`),
	'completion',
];

/** Describes a step rule. */
function ruleText(rule: string): string {
	const size = /^tokens-(\d+)$/.exec(rule)?.[1];
	if (size !== undefined) return `Every ${size} tokens`;
	return (
		{ lines: 'Lines', paragraphs: 'Paragraphs', sentences: 'Sentences', completion: 'The whole completion' }[rule] ??
		rule
	);
}

/** Field for choosing where a step ends: automatic, by a rule, or at a given text. */
export class StepsField {
	readonly element: HTMLElement;
	readonly #model: NewSearchModel;
	readonly #rule = select('Steps', (value) => this.#choose(value));
	readonly #text = element('input', {
		class: 'field',
		aria: { label: 'Text that ends a step' },
		attributes: { type: 'text', spellcheck: 'false' },
	});
	readonly #note = element('p', { class: 'quiet' });

	constructor(model: NewSearchModel) {
		this.#model = model;
		this.element = row('Steps', element('div', { class: 'pair' }, this.#rule.element, this.#text), this.#note);
		this.#text.addEventListener('input', () => model.change({ split: { text: this.#text.value } }));
	}

	draw(): void {
		const { draft, split, usesSteps, facts } = this.#model;
		this.element.hidden = !usesSteps;
		const { split: chosen } = draft;
		const automatic = typeof split === 'string' ? ruleText(split) : '';
		this.#rule.set(
			[
				{ value: suggested, label: chosen === undefined ? `Automatic: ${automatic.toLowerCase()}` : 'Automatic' },
				...rules.map((rule) => ({ value: rule, label: ruleText(rule) })),
				{ value: separator, label: 'Text that ends a step…' },
			],
			chosen === undefined ? suggested : typeof chosen === 'string' ? chosen : separator,
		);
		this.#text.hidden = typeof chosen !== 'object';
		if (typeof chosen === 'object' && this.#text.value !== chosen.text) this.#text.value = chosen.text;
		const sample = facts?.sample;
		const known = chosen === undefined && sample?.split;
		setText(
			this.#note,
			known
				? `About ${formatCounted(Math.round(known.steps), 'step')} in each of ${formatCounted(sample.completions, 'completion')} at step ${formatNumber(sample.step)}`
				: chosen === undefined && facts !== null
					? sample
						? 'No rule suits the recorded completions'
						: 'No recorded completions to derive a step rule from'
					: '',
		);
		this.#note.hidden = this.#note.textContent === '';
	}

	#choose(value: string): void {
		if (value === suggested) this.#model.suggestSplit();
		else this.#model.change({ split: value === separator ? { text: '' } : value });
	}
}
