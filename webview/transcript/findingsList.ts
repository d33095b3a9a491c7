import { formatCount } from '../../src/base/format.ts';
import type { Severity } from '../../src/core/transcript/finding.ts';
import { element, fill } from '../lib/dom.ts';
import { icon } from '../lib/icons.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { ShownFinding } from './inspection.ts';
import type { TranscriptModel } from './transcriptModel.ts';

const severityNames: Readonly<Record<Severity, string>> = { error: 'Error', warning: 'Warning', info: 'Note' };
const shown = 500;

/** List of findings with links to their messages. */
export class FindingsList {
	readonly element = element('section', { class: 'findings', aria: { label: 'Findings' } });
	readonly #model: TranscriptModel;

	constructor(model: TranscriptModel) {
		this.#model = model;
	}

	draw(): void {
		const { inspection, checking, checkFailure } = this.#model;
		const findings = inspection?.findings ?? [];
		const { error, warning, info } = inspection?.counts ?? { error: 0, warning: 0, info: 0 };
		const more = error + warning + info - Math.min(shown, findings.length);
		const none = checking
			? 'Checking all messages…'
			: checkFailure !== null
				? `The messages were not checked: ${plainLabel(checkFailure, 300)}`
				: inspection?.checked === false
					? 'The messages were not checked, because the file is too large.'
					: 'No issues detected.';
		fill(
			this.element,
			element('h2', null, 'Findings'),
			findings.length === 0
				? element('p', { class: 'quiet' }, none)
				: element(
						'ol',
						{ class: 'finding-list' },
						...findings.slice(0, shown).map((finding, i) => this.#item(finding, i)),
					),
			more > 0 && element('p', { class: 'quiet' }, `and ${formatCount(more)} more`),
		);
	}

	/** Highlights the finding that was navigated to. */
	mark(index: number): void {
		this.element.querySelectorAll('.finding').forEach((item, i) => {
			item.classList.toggle('current', i === index);
			if (i === index) item.scrollIntoView({ block: 'nearest' });
		});
	}

	#item({ severity, title, text, at, quotes }: ShownFinding, i: number): HTMLElement {
		const [first, ...others] = at;
		const jump = (message: number): void => {
			this.#model.finding = i;
			this.mark(i);
			this.#model.jump(message);
		};
		return element(
			'li',
			{ class: `finding severity-${severity}` },
			element(
				'button',
				{
					class: 'finding-head',
					attributes: { type: 'button' },
					on: { click: () => first && jump(first.message) },
				},
				icon(severity),
				element('span', { class: 'visually-hidden' }, `${severityNames[severity]}: `),
				element('span', { class: 'finding-title' }, plainLabel(title, 200)),
				first !== undefined && element('span', { class: 'quiet where' }, `message ${first.message + 1}`),
			),
			element('p', null, plainLabel(text, 1200)),
			...quotes
				.slice(0, 4)
				.map(({ label, text: words }) =>
					element('blockquote', null, element('span', { class: 'quiet' }, `${label}: `), plainLabel(words, 500)),
				),
			others.length > 0 &&
				element(
					'div',
					{ class: 'also' },
					'Also: ',
					...others
						.slice(0, 10)
						.map(({ message }) =>
							element(
								'button',
								{ class: 'link', attributes: { type: 'button' }, on: { click: () => jump(message) } },
								`message ${message + 1}`,
							),
						),
				),
		);
	}
}
