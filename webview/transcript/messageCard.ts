import type { IDisposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted } from '../../src/base/format.ts';
import { isFailure } from '../../src/core/transcript/calls.ts';
import { isTable } from '../../src/core/transcript/pythonValue.ts';
import { jsonText } from '../../src/core/transcript/toolCalls.ts';
import type { ToolCall, TranscriptMessage } from '../../src/core/transcript/transcript.ts';
import { button } from '../lib/controls.ts';
import { element, fill, setAria, uniqueId } from '../lib/dom.ts';
import { icon } from '../lib/icons.ts';
import { noTags, traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import type { TranscriptModel } from './transcriptModel.ts';
import { roleNames, speakerOf, summaryOf } from './words.ts';

/** Maximum length of JSON that is pretty-printed. Longer JSON is shown unformatted. */
const formattedLimit = 500_000;

/** One message in the timeline: a summary line, plus the content if expanded. */
export class MessageCard implements IDisposable {
	readonly element: HTMLElement;
	readonly #message: TranscriptMessage;
	readonly #model: TranscriptModel;
	readonly #head: HTMLButtonElement;
	readonly #body: HTMLElement;
	#texts: IDisposable[] = [];
	#open = false;

	constructor(message: TranscriptMessage, model: TranscriptModel) {
		this.#message = message;
		this.#model = model;
		const id = uniqueId('message');
		this.#body = element('div', { class: 'message-body', id, hidden: true });
		this.#head = element(
			'button',
			{
				class: 'message-head',
				attributes: { type: 'button' },
				aria: { expanded: false, controls: id },
				on: { click: () => model.toggle(message.index), focus: () => model.select(message.index) },
			},
			element('span', { class: 'chevron', aria: { hidden: true } }, icon('next')),
			element('span', { class: 'message-number' }, `${message.index + 1}`),
			element('span', { class: 'speaker' }, speakerOf(message)),
			element('span', { class: 'summary' }, summaryOf(message)),
			...this.#badges(),
		);
		this.element = element(
			'div',
			{ class: `message role-${message.role}`, data: { message: message.index } },
			this.#head,
			this.#body,
		);
		this.update();
	}

	/** Updates the expanded and selected state. */
	update(): void {
		const open = this.#model.open.has(this.#message.index);
		this.element.classList.toggle('selected', this.#model.selected === this.#message.index);
		if (open === this.#open) return;
		this.#open = open;
		setAria(this.#head, 'expanded', open);
		this.element.classList.toggle('open', open);
		this.#clear();
		if (open) this.#fill();
		this.#body.hidden = !open;
	}

	focus(): void {
		this.#head.focus({ preventScroll: true });
	}

	dispose(): void {
		this.#clear();
		this.element.remove();
	}

	#badges(): HTMLElement[] {
		const { index, usage } = this.#message;
		const badges: HTMLElement[] = [];
		const findings = this.#model.inspection?.findingsAt.get(index) ?? [];
		const count = (severity: string): number => findings.filter((finding) => finding.severity === severity).length;
		const [errors, warnings] = [count('error'), count('warning')];
		if (isFailure(this.#message)) badges.push(element('span', { class: 'badge wrong' }, 'Failed'));
		if (errors > 0) {
			badges.push(element('span', { class: 'badge wrong' }, formatCounted(errors, 'error')));
		}
		if (warnings > 0) {
			badges.push(element('span', { class: 'badge warning' }, formatCounted(warnings, 'warning')));
		}
		if (usage) {
			const words = `${formatCount(usage.prompt)} + ${formatCount(usage.completion)}`;
			badges.push(element('span', { class: 'tokens', title: 'Prompt tokens + completion tokens' }, `${words} tokens`));
		}
		return badges;
	}

	#clear(): void {
		for (const text of this.#texts.splice(0)) text.dispose();
		fill(this.#body);
	}

	#fill(): void {
		const { text, thinking, calls, result, finishReason, model, attachments } = this.#message;
		const facts = [
			model !== null && `Model ${plainLabel(model, 80)}`,
			finishReason !== null && `finish reason: ${plainLabel(finishReason, 40)}`,
			attachments.length > 0 && `with ${attachments.map((kind) => plainLabel(kind, 30)).join(', ')}`,
			result?.callId != null && `call ${plainLabel(result.callId, 80)}`,
		].filter((words) => words !== false);
		fill(
			this.#body,
			this.#findings(),
			element(
				'div',
				{ class: 'message-tools' },
				element('span', { class: 'quiet' }, facts.join(', ')),
				element('span', { class: 'spacer' }),
				this.#answeredLink(),
				...this.#actions(),
			),
			thinking !== '' && this.#section('Thinking', thinking, 'thinking'),
			text !== '' && this.#section(null, text, 'said'),
			...calls.map((call, i) => this.#call(call, i)),
		);
		if (text === '' && thinking === '' && calls.length === 0) {
			this.#body.append(element('p', { class: 'quiet' }, 'Empty message.'));
		}
	}

	/** Short form of the findings in this message. The findings list has the full text. */
	#findings(): HTMLElement | null {
		const findings = this.#model.inspection?.findingsAt.get(this.#message.index) ?? [];
		if (findings.length === 0) return null;
		return element(
			'ul',
			{ class: 'found-here', aria: { label: 'Findings in this message' } },
			...findings
				.slice(0, 20)
				.map(({ severity, title }) =>
					element(
						'li',
						{ class: `severity-${severity}` },
						icon(severity),
						element('span', null, plainLabel(title, 200)),
					),
				),
		);
	}

	#answeredLink(): HTMLElement | null {
		const message = this.#model.inspection?.callOf(this.#message.index) ?? null;
		return message === null ? null : this.#jump(`Call in message ${message + 1}`, message);
	}

	#actions(): HTMLElement[] {
		const { index, place } = this.#message;
		const model = this.#model;
		const n = index + 1;
		const open = this.#model.place?.kind === 'file' && place !== null;
		return [
			button({
				label: `Copy message ${n}`,
				icon: 'copy',
				appearance: 'icon',
				onClick: () => model.post({ type: 'copy', text: wholeText(this.#message) }),
			}).element,
			button({
				label: `Open message ${n} as text`,
				icon: 'open',
				appearance: 'icon',
				onClick: () => model.post({ type: 'openText', name: `message ${n}.txt`, text: wholeText(this.#message) }),
			}).element,
			...(open
				? [
						button({
							label: `Show message ${n} in the file`,
							icon: 'log',
							appearance: 'icon',
							onClick: () => model.post({ type: 'openSource', line: place.line, column: place.column }),
						}).element,
					]
				: []),
		];
	}

	#call(call: ToolCall, i: number): HTMLElement {
		const { index } = this.#message;
		const results = this.#model.inspection?.results(index, i) ?? null;
		const given = isTable(call.arguments) ? Object.entries(call.arguments) : null;
		const title = element('h3', null, `Calls ${plainLabel(call.name, 100)}`);
		const head = element(
			'div',
			{ class: 'call-head' },
			title,
			call.id !== null && element('span', { class: 'quiet call-id' }, plainLabel(call.id, 80)),
			element('span', { class: 'spacer' }),
			...(results ?? []).map((result) => this.#jump(`Result in message ${result + 1}`, result)),
			results?.length === 0 && element('span', { class: 'badge warning' }, 'No result'),
		);
		if (call.fault !== null || given === null) {
			return element(
				'section',
				{ class: 'call', aria: { label: `Call to ${plainLabel(call.name, 60)}` } },
				head,
				call.fault !== null && element('p', { class: 'call-fault' }, plainLabel(call.fault, 400)),
				this.#text(`Arguments for ${call.name}`, call.text),
			);
		}
		return element(
			'section',
			{ class: 'call', aria: { label: `Call to ${plainLabel(call.name, 60)}` } },
			head,
			given.length === 0 && element('p', { class: 'quiet' }, 'No arguments.'),
			...given.slice(0, 200).map(([name, value]) => this.#argument(name, value)),
			given.length > 200 && element('p', { class: 'quiet' }, `and ${formatCounted(given.length - 200, 'more field')}`),
		);
	}

	#argument(name: string, value: unknown): HTMLElement {
		const label = plainLabel(name, 80);
		const text = typeof value === 'string' ? value : jsonText(value, 2);
		const short = text.length <= 60 && !text.includes('\n');
		return element(
			'div',
			{ class: short ? 'argument short' : 'argument' },
			element('h4', null, label),
			this.#text(label, text),
		);
	}

	#section(name: string | null, text: string, kind: string): HTMLElement {
		const { role, index } = this.#message;
		const label = name ?? `Text of message ${index + 1}`;
		const shown = role === 'tool' ? formatted(text) : text;
		return element(
			'div',
			{ class: `text-section ${kind}` },
			name !== null && element('h3', null, name),
			this.#text(`${label}, ${roleNames[role]}`, shown),
		);
	}

	#text(label: string, text: string): HTMLElement {
		const body = new TextBody({
			label: plainLabel(label, 120),
			trace: traceCompletion(text, noTags),
			found: [],
			behaviors: false,
		});
		this.#texts.push(body);
		return body.element;
	}

	#jump(label: string, to: number): HTMLElement {
		return element(
			'button',
			{ class: 'link jump', attributes: { type: 'button' }, on: { click: () => this.#model.jump(to) } },
			label,
		);
	}
}

/** Pretty-prints JSON results. */
function formatted(text: string): string {
	if (text.length > formattedLimit || !/^\s*[[{]/.test(text)) return text;
	try {
		return JSON.stringify(JSON.parse(text), null, 2);
	} catch {
		return text;
	}
}

function wholeText({ text, thinking, calls }: TranscriptMessage): string {
	return [thinking, text, ...calls.map((call) => `${call.name}(${call.text})`)]
		.filter((part) => part !== '')
		.join('\n\n');
}
