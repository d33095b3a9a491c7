import { formatPercent } from '../../src/base/format.ts';
import { claimTerms, stem } from '../../src/core/transcript/claimTerms.ts';
import type { AnswerReferences, Claim, Reference, Verdict } from '../../src/core/transcript/references.ts';
import { dropdown } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { Mark } from '../lib/trace/marks.ts';
import { appendMarked } from '../lib/trace/textBody.ts';
import type { TranscriptModel } from './transcriptModel.ts';

const verdictNames: Readonly<Record<Verdict, string>> = {
	supported: 'Supported',
	weak: 'Weakly supported',
	unsupported: 'Not supported',
	elsewhere: 'Supported elsewhere',
	number: 'Number not found',
	unknown: 'Not checked',
};
const verdictClass: Readonly<Record<Verdict, string>> = {
	supported: 'right',
	weak: '',
	unsupported: 'warning',
	elsewhere: 'warning',
	number: 'wrong',
	unknown: '',
};
const evidenceShown = 4000;

/** Claims in an answer with their citations, plus the sources with their retrieved text. */
export class ReferencesView {
	readonly element = element('section', { class: 'references', aria: { label: 'References' } });
	readonly #model: TranscriptModel;
	#answer = -1;

	constructor(model: TranscriptModel) {
		this.#model = model;
	}

	/** Selects the newest answer. */
	reset(): void {
		this.#answer = -1;
		this.draw();
	}

	draw(): void {
		const answers = this.#model.inspection?.references ?? [];
		this.element.hidden = answers.length === 0;
		const shown = answers[this.#answer] ?? answers.at(-1);
		if (shown === undefined) return;
		const choice =
			answers.length > 1
				? dropdown({
						label: 'Answer',
						showLabel: true,
						choices: answers.map(({ at }, i) => ({ value: String(i), label: `Message ${at.message + 1}` })),
						value: String(answers.indexOf(shown)),
						onChange: (value) => {
							this.#answer = Number(value);
							this.draw();
						},
					}).element
				: null;
		fill(
			this.element,
			element(
				'div',
				{ class: 'pane-head' },
				element('h2', null, 'References'),
				element('span', { class: 'spacer' }),
				choice,
			),
			element(
				'p',
				{ class: 'quiet note' },
				'Claims are compared word by word with the retrieved text of their sources, and rare words count more. Use this as a hint about where to look, not as proof.',
			),
			shown.claims.length > 0 &&
				element(
					'ol',
					{ class: 'claims', aria: { label: 'Claims' } },
					...shown.claims.slice(0, 200).map((claim) => this.#claim(claim)),
				),
			element('h3', null, 'Sources'),
			element(
				'ol',
				{ class: 'sources' },
				...shown.references.slice(0, 200).map((reference) => this.#reference(reference, shown)),
			),
		);
	}

	#claim({ text, cites, verdict, support, absentNumbers, better }: Claim): HTMLElement {
		return element(
			'li',
			{ class: 'claim' },
			element(
				'p',
				null,
				plainLabel(text, 600),
				' ',
				element('span', { class: 'cites' }, cites.map((n) => `[${n}]`).join('')),
			),
			element(
				'div',
				{ class: 'claim-verdict' },
				element('span', { class: `badge ${verdictClass[verdict]}` }, verdictNames[verdict]),
				support !== null &&
					element('span', { class: 'quiet' }, `${formatPercent(support, 0)} word overlap with the closest source`),
				absentNumbers.length > 0 && element('span', { class: 'quiet' }, `not found: ${absentNumbers.join(', ')}`),
				better !== null &&
					element(
						'span',
						{ class: 'better' },
						`${formatPercent(better.support, 0)} in ${plainLabel(better.url, 120)} (not cited)`,
						...better.messages.slice(0, 3).map((message) => this.#jump(message)),
					),
			),
		);
	}

	#reference({ number, url, title, retrieved, evidence, claims }: Reference, answer: AnswerReferences): HTMLElement {
		const cited = claims.map((i) => answer.claims[i]).filter((claim) => claim !== undefined);
		const terms = new Set(cited.flatMap((claim) => [...claimTerms(claim.text)]));
		const text = element('div', {
			class: 'evidence-text',
			role: 'group',
			tabIndex: 0,
			aria: { label: `Retrieved text for [${number}]` },
		});
		const shown = evidence.slice(0, evidenceShown);
		appendMarked(text, shown, 0, shown.length, termMarks(shown, terms));
		if (evidence.length > evidenceShown) text.append('…');
		return element(
			'li',
			{ class: 'source' },
			element(
				'div',
				{ class: 'source-head' },
				element('span', { class: 'cites' }, `[${number}]`),
				element('span', { class: 'source-url' }, plainLabel(url === '' ? 'not listed' : url, 300)),
			),
			title !== null && element('div', { class: 'quiet' }, plainLabel(title, 200)),
			element(
				'div',
				{ class: 'claim-verdict' },
				retrieved.length === 0
					? element('span', { class: 'badge wrong' }, 'Never retrieved')
					: element(
							'span',
							{ class: 'quiet' },
							'Retrieved in',
							...retrieved.slice(0, 6).flatMap((m) => [' ', this.#jump(m)]),
						),
				claims.length === 0 && element('span', { class: 'badge' }, 'Not cited'),
			),
			evidence !== '' && element('details', null, element('summary', null, `Retrieved text for [${number}]`), text),
		);
	}

	#jump(message: number): HTMLElement {
		return element(
			'button',
			{ class: 'link', attributes: { type: 'button' }, on: { click: () => this.#model.jump(message) } },
			`message ${message + 1}`,
		);
	}
}

/** Marks the words in text that match terms in a claim. */
function termMarks(text: string, terms: ReadonlySet<string>): Mark[] {
	const marks: Mark[] = [];
	for (const match of text.matchAll(/[\p{L}\p{N}]+/gu)) {
		if (match[0].length > 2 && terms.has(stem(match[0]))) {
			marks.push({
				start: match.index,
				end: match.index + match[0].length,
				kind: 'found',
				title: 'Word from the claim',
			});
		}
	}
	return marks;
}
