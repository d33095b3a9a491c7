import { formatCount, formatCounted, formatPercent } from '../../src/base/format.ts';
import { describe } from '../../src/core/transcript/readTranscript.ts';
import type { TranscriptFormat } from '../../src/core/transcript/transcript.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { Inspection } from './inspection.ts';
import type { TranscriptModel } from './transcriptModel.ts';

const formatNames: Readonly<Record<TranscriptFormat | 'inspect', string>> = {
	inspect: 'Inspect log',
	python: 'Python message dump',
	json: 'JSON',
	jsonl: 'JSON lines',
	rollout: 'rollout',
};

/** Transcript header: title, size and parse errors. */
export class PageHeader {
	readonly element: HTMLElement;
	readonly #model: TranscriptModel;
	readonly #file = element('button', { class: 'link file', attributes: { type: 'button' } });
	readonly #facts = element('p', { class: 'facts' });
	readonly #faults = element('div', { class: 'faults' });
	readonly #phase = element('span', { class: 'quiet', role: 'status' });
	readonly #choice;
	readonly #sample = element('button', { class: 'link sample', attributes: { type: 'button' } });

	constructor(model: TranscriptModel) {
		this.#model = model;
		this.#file.addEventListener('click', () => model.post({ type: 'openSource', line: null, column: null }));
		this.#sample.addEventListener('click', () => model.post({ type: 'chooseSample', index: null }));
		this.#choice = dropdown({
			label: 'Conversation',
			showLabel: true,
			choices: [],
			value: '',
			onChange: (value) => model.chooseConversation(Number(value)),
		});
		this.element = element(
			'header',
			{ class: 'page-head' },
			element(
				'div',
				{ class: 'head-line' },
				element('h1', null, 'Transcript'),
				this.#file,
				this.#phase,
				element('span', { class: 'spacer' }),
				this.#choice.element,
				this.#sample,
				button({ label: 'Open Another', icon: 'folder', onClick: () => model.post({ type: 'openOther' }) }).element,
			),
			this.#facts,
			this.#faults,
		);
	}

	update(): void {
		const { file, inspection, phase, label, conversation, progress, place } = this.#model;
		setText(this.#file, plainLabel(label, 300));
		this.#file.setAttribute(
			'aria-label',
			place?.kind === 'rollout'
				? `Show ${plainLabel(label, 300)} in the rollouts panel`
				: `Open ${plainLabel(label, 300)}`,
		);
		setText(this.#phase, phase === 'loading' ? `Loading… ${formatPercent(progress, 0)}` : '');
		const transcripts = file?.transcripts ?? [];
		this.#choice.setHidden(transcripts.length < 2);
		if (transcripts.length > 1) {
			this.#choice.setChoices(
				transcripts.slice(0, 1000).map(({ title, messages }, i) => ({
					value: String(i),
					label: `${plainLabel(title === '' ? `Conversation ${i + 1}` : title, 60)} (${messages.length})`,
				})),
				String(conversation),
			);
		}
		const { sample } = this.#model;
		this.#sample.hidden = sample === null;
		if (sample !== null) {
			const of = `${formatCount(sample.index + 1)} of ${formatCount(sample.count)}`;
			setText(this.#sample, `${plainLabel(sample.title, 60)} (${of})`);
		}
		if (this.#model.count === 0) return;
		const facts = [
			formatNames[this.#model.format],
			formatCounted(this.#model.count, 'message'),
			...(inspection === null ? [] : inspectedFacts(inspection)),
			...(this.#model.checking ? ['checking…'] : []),
		];
		setText(this.#facts, facts.join(' · '));
		const { listed, more: unlisted } = this.#model.faults;
		const shown = listed.slice(0, 20);
		const more = listed.length + unlisted - shown.length;
		fill(
			this.#faults,
			shown.length > 0 &&
				element(
					'ul',
					{ aria: { label: 'Parse errors' } },
					...shown.map((fault) => element('li', null, plainLabel(describe(fault), 400))),
					more > 0 && element('li', { class: 'quiet' }, `and ${formatCount(more)} more`),
				),
		);
	}
}

function inspectedFacts({ calls, totals, counts, checked }: Inspection): string[] {
	return [
		formatCounted(calls, 'call'),
		...(totals.counted > 0 ? [formatCounted(totals.total, 'token')] : []),
		...(checked ? [formatCounted(counts.error, 'error'), formatCounted(counts.warning, 'warning')] : []),
	];
}
