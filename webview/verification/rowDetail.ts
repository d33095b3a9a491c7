import { Disposable, type IDisposable } from '../../src/base/disposable.ts';
import { Failure } from '../../src/base/failure.ts';
import { firstUpper, formatCounted, formatNumber } from '../../src/base/format.ts';
import { findText } from '../../src/core/trace/findText.ts';
import { stepText } from '../../src/protocol/rolloutLine.ts';
import type { ComparedSummary, RowSummary, RowTexts } from '../../src/protocol/verificationMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import type { IconName } from '../lib/icons.ts';
import { signedBar, signedNumber } from '../lib/signedBar.ts';
import { faultMessages, noTags, traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { Mark } from '../lib/trace/marks.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import { sourceNames } from './distribution.ts';
import type { ResultsModel } from './resultsModel.ts';
import { changeText, expectationText, valueText } from './rowBadges.ts';
import { tagsOf } from './traceTags.ts';

/** Maximum number of characters of an answer or stack trace to show. The full text can be opened as a document. */
const longestNote = 20_000;

/** The open row: value, prompt, completion as a trace, answer and error. */
export class RowDetail extends Disposable {
	readonly element = element('article', { class: 'row-detail', tabIndex: -1, aria: { label: 'Open row' } });
	readonly #model: ResultsModel;
	readonly #say: (text: string) => void;
	#bodies: IDisposable[] = [];
	#load = new AbortController();
	#drawn = '';

	constructor(model: ResultsModel, say: (text: string) => void) {
		super();
		this.#model = model;
		this.#say = say;
		this.register({
			dispose: () => {
				this.#load.abort();
				this.#forget();
			},
		});
	}

	update(): void {
		const { row, result, filters } = this.#model;
		const drawn = row === null ? '' : JSON.stringify([result, row, filters.text]);
		if (drawn === this.#drawn) return;
		this.#drawn = drawn;
		this.#load.abort();
		this.#load = new AbortController();
		if (row === null) {
			this.#forget();
			fill(this.element);
			return;
		}
		void this.#show(row, this.#load.signal);
	}

	async #show(index: number, signal: AbortSignal): Promise<void> {
		let texts: RowTexts;
		try {
			texts = await this.#model.loadTexts(index, signal);
		} catch (error) {
			if (signal.aborted) return;
			this.#forget();
			fill(this.element, element('p', { class: 'quiet', role: 'alert' }, plainLabel(Failure.from(error).message, 400)));
			return;
		}
		if (signal.aborted) return;
		this.#forget();
		const verified = this.#model.verified[index];
		const compared = this.#model.compared[index];
		fill(
			this.element,
			verified !== undefined && this.#verifiedHead(verified),
			compared !== undefined && this.#comparedHead(compared),
			this.#actions(index, texts, compared !== undefined),
			texts.error !== null && this.#error(texts.error),
			section('Prompt', this.#text(texts.prompt, 'Prompt', false)),
			section('Completion', this.#text(texts.completion, 'Completion', true)),
			texts.answer !== null && section('Expected answer', note(texts.answer)),
		);
		this.element.scrollTop = 0;
	}

	#verifiedHead(row: RowSummary): HTMLElement {
		const facts: [string, HTMLElement | string][] = [['Value', element('strong', null, valueText(row))]];
		if (row.expect !== undefined) {
			const verdict = row.passed
				? element('span', { class: 'badge right' }, '✓ passes')
				: element('span', { class: 'badge wrong' }, '✗ fails');
			facts.push(['Expected', element('span', null, `${expectationText(row.expect)} `, verdict)]);
		}
		if (row.recorded !== undefined) facts.push(['Recorded value', formatNumber(row.recorded, 4)]);
		for (const [name, value] of Object.entries(row.others)) facts.push([plainLabel(name, 60), formatNumber(value, 4)]);
		const beside = [sourceNames[row.source], formatCounted(row.size, 'character'), ...truncationWords(row.truncated)];
		return head(plainLabel(row.label, 300), beside.join(' · '), facts);
	}

	#comparedHead(row: ComparedSummary): HTMLElement {
		const largest = Math.max(Math.abs(row.advantageBefore), Math.abs(row.advantageAfter));
		const advantage = (value: number) =>
			element(
				'span',
				{ class: 'advantage' },
				element('span', { class: 'advantage-value' }, signedNumber(value)),
				signedBar(value, largest),
			);
		const title = firstUpper(`${stepText(row)}group ${row.group}, completion ${row.index}`);
		return head(title, [formatCounted(row.size, 'character'), ...truncationWords(row.truncated)].join(' · '), [
			['Before', element('strong', null, formatNumber(row.before, 4))],
			['After', element('strong', null, formatNumber(row.after, 4), ` (${changeText(row)})`)],
			['Advantage before', advantage(row.advantageBefore)],
			['Advantage after', advantage(row.advantageAfter)],
		]);
	}

	#actions(index: number, { place, rollout }: RowTexts, isCompared: boolean): HTMLElement {
		const model = this.#model;
		const action = (label: string, icon: IconName, run: () => Promise<unknown>, done?: string) =>
			button({
				label,
				icon,
				onClick: () => {
					run().then(
						() => done !== undefined && this.#say(done),
						(error: unknown) => this.#say(Failure.from(error).message),
					);
				},
			}).element;
		return element(
			'div',
			{ class: 'row-actions' },
			!isCompared && action('Debug', 'play', () => model.act('debugRow', index)),
			rollout && action('Rollouts', 'rollouts', () => model.act('openRollouts', index)),
			place !== null &&
				action(`${plainLabel(place.name, 40)}:${place.line}`, 'open', () => model.act('openPlace', index)),
			action('Open as text', 'log', () => model.act('openText', index)),
			action('Copy', 'copy', () => model.copy(index, 'completion'), 'Completion copied'),
			action('Copy JSON', 'braces', () => model.copy(index, 'json'), 'Row copied as JSON'),
		);
	}

	#error({ message, stack, line }: NonNullable<RowTexts['error']>): HTMLElement {
		const at =
			line !== null && line > 0
				? button({ label: `Go to line ${line}`, onClick: () => this.#model.post({ type: 'openFile', line }) }).element
				: null;
		return element(
			'section',
			{ class: 'row-error', role: 'group', aria: { label: 'Error' } },
			// The message already includes the error type: "TypeError: ...".
			element('p', null, element('strong', null, plainLabel(message, 2000))),
			at,
			stack !== null && note(stack, 'Stack'),
		);
	}

	#text(text: string, label: string, isTrace: boolean): HTMLElement {
		if (text === '') return element('p', { class: 'quiet' }, `Empty ${label.toLowerCase()}.`);
		const trace = traceCompletion(text, isTrace ? tagsOf(text) : noTags);
		const found = findText(text, this.#model.filters.text).map((match): Mark => ({ ...match, kind: 'found' }));
		const body = new TextBody({ label, trace, found, behaviors: isTrace });
		this.#bodies.push(body);
		const first = found[0];
		if (first !== undefined) requestAnimationFrame(() => body.reveal(first.start));
		const faults = isTrace ? faultMessages(trace.trace).filter(() => tagsOf(text) !== noTags) : [];
		const note =
			faults.length === 0
				? null
				: element('p', { class: 'quiet' }, `Format: ${plainLabel(faults.slice(0, 4).join(' '), 400)}`);
		return element('div', { class: 'card-body' }, note, body.element);
	}

	#forget(): void {
		for (const body of this.#bodies) body.dispose();
		this.#bodies = [];
	}
}

const truncationWords = (truncated: boolean | null): string[] =>
	truncated === null ? ['truncation not recorded'] : truncated ? ['truncated'] : [];

function head(title: string, beside: string, facts: readonly (readonly [string, HTMLElement | string])[]): HTMLElement {
	return element(
		'header',
		{ class: 'detail-head' },
		element('h3', null, title),
		element('p', { class: 'quiet' }, beside),
		element(
			'dl',
			{ class: 'facts' },
			...facts.flatMap(([name, value]) => [element('dt', null, name), element('dd', null, value)]),
		),
	);
}

function section(title: string, body: HTMLElement): HTMLElement {
	return element('section', { class: 'detail-part' }, element('h4', null, title), body);
}

/** Plain text with line breaks kept and invisible characters escaped. */
function note(text: string, label = 'Text'): HTMLElement {
	const cut = text.length > longestNote ? `${text.slice(0, longestNote)}…` : text;
	const lines = cut.split('\n').map((line) => plainLine(line));
	return element('pre', { class: 'note', tabIndex: 0, role: 'group', aria: { label } }, lines.join('\n'));
}

const plainLine = (line: string) => {
	const indent = /^[ \t]*/.exec(line)?.[0] ?? '';
	return indent + plainLabel(line.slice(indent.length), longestNote);
};
