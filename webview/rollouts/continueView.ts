import { Disposable } from '../../src/base/disposable.ts';
import { formatCounted, formatNumber } from '../../src/base/format.ts';
import type { TraceTags } from '../../src/core/trace/trace.ts';
import { longestPrefix } from '../../src/protocol/explorerMessages.ts';
import { button, textField } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { traceCompletion } from '../lib/trace/completionTrace.ts';
import { hiddenCharacters } from '../lib/trace/hiddenCharacters.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import { tagsOf } from './cardContext.ts';
import { placeKey } from './chosen.ts';
import type { ContinuationModel, Continued } from './continuationModel.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import { TokenBody } from './tokenBody.ts';

/**
 * Returns the end of the default prefix: before the closing think tag if there is one, otherwise before the answer,
 * otherwise at the end of the text.
 */
export function firstCut(text: string, tags: TraceTags): number {
	const { trace } = traceCompletion(text, tags);
	if (trace.thinkSpan && trace.thinkSpan.end > trace.thinkSpan.start) return trace.thinkSpan.end;
	return trace.answerSpan?.start ?? text.length;
}

function stateWords({ state, ended, failure, temperature }: Continued): string {
	const at = `temperature ${formatNumber(temperature, 3)}`;
	switch (state) {
		case 'running':
			return `generating… · ${at}`;
		case 'finished':
			return `${ended ? 'finished (EOS)' : 'truncated'} · ${at}`;
		case 'stopped':
			return `stopped · ${at}`;
		case 'failed':
			return failure?.toString() ?? 'failed';
	}
}

/** *Continue from Here* view: cut a completion, edit the prefix, and let the policy continue it. */
export class ContinueView extends Disposable {
	readonly element = element('section', { class: 'continue-view', aria: { label: 'Continue from here' } });
	readonly #model: RolloutsModel;
	readonly #made: ContinuationModel;
	readonly #say: (text: string) => void;
	readonly #title = element('h2', { class: 'group-title' });
	readonly #policy = element('p', { class: 'quiet', role: 'status' });
	readonly #prefix = element('textarea', {
		class: 'beginning',
		aria: { label: 'Prefix to continue from' },
		attributes: { spellcheck: 'false', rows: 10, maxlength: longestPrefix },
	}) as HTMLTextAreaElement;
	readonly #count = element('span', { class: 'quiet' });
	readonly #temperature = textField({ label: 'Temperature', onInput: () => this.#keep() });
	readonly #tokens = textField({ label: 'Max new tokens', onInput: () => this.#keep() });
	readonly #generate = button({
		label: 'Continue from Here',
		appearance: 'primary',
		title: 'Ctrl+Enter',
		onClick: () => this.#start(),
	});
	readonly #stop = button({ label: 'Stop', onClick: () => this.#made.stop() });
	readonly #original = element('div', { class: 'card-body' });
	readonly #results = element('div', { class: 'continuations' });
	#place = '';
	#drawn: unknown = null;
	#body: TextBody | TokenBody | null = null;
	#resultBodies: TextBody[] = [];

	constructor(model: RolloutsModel, made: ContinuationModel, say: (text: string) => void) {
		super();
		this.#model = model;
		this.#made = made;
		this.#say = say;
		this.#temperature.element.classList.add('bound');
		this.#tokens.element.classList.add('bound');
		this.#prefix.addEventListener('input', () => this.#edited());
		this.#prefix.addEventListener('keydown', (event) => {
			const go = event.key === 'Enter' && (event.ctrlKey || event.metaKey);
			const cut = event.key === 'Delete' && event.altKey;
			if (!go && !cut) return;
			event.preventDefault();
			if (go) this.#start();
			else this.#cut();
		});
		this.register(made.onChange(() => this.#draw()));
		this.register({ dispose: () => this.#clear() });
	}

	/** Shows the completion in the model. */
	update(): void {
		const place = this.#model.one;
		if (place === null || placeKey(place) === this.#place) return;
		this.#place = placeKey(place);
		this.#drawn = null;
		fill(this.element, element('p', { class: 'quiet pad' }, 'Loading…'));
		void this.#made.open(place).then(() => this.#prefix.focus());
	}

	forget(): void {
		this.#place = '';
	}

	#draw(): void {
		const { content, failure } = this.#made;
		if (failure) {
			fill(
				this.element,
				emptyState({
					title: 'Cannot show this completion',
					text: failure.toString(),
					actions: [{ label: 'Back to Group', run: () => this.#model.setMode('group') }],
				}),
			);
			return;
		}
		if (!content) return;
		if (this.#drawn !== content) {
			this.#drawn = content;
			this.#drawAll();
		}
		const { running } = this.#made;
		this.#generate.setDisabled(!content.policy.ready || running !== null);
		this.#stop.setHidden(running === null);
		this.#drawResults();
	}

	#drawAll(): void {
		const { content } = this.#made;
		if (!content) return;
		this.#clear();
		const { place, text, tokens, policy } = content;
		const tags = tagsOf(this.#model);
		setText(this.#title, `Continue from #${place.index}`);
		const { ready, message, action } = policy;
		fill(
			this.#policy,
			!ready && element('span', { class: 'badge warning' }, 'Unavailable'),
			ready ? `Policy: ${message}` : ` ${message}${action === null ? '' : ` ${action}`}`,
		);
		const draft = this.#made.draft(place);
		this.#prefix.value = draft?.prefix ?? text.slice(0, firstCut(text, tags));
		this.#temperature.setValue(draft?.temperature ?? String(policy.temperature));
		this.#tokens.setValue(draft?.tokens ?? String(policy.maxTokens));
		this.#drawCount();
		if (tokens) {
			this.#body = new TokenBody('Tokens of the original completion', tokens, 'logprob', {
				onPick: (token) => {
					this.#prefix.value = tokens.text.slice(0, token).join('').slice(0, longestPrefix);
					this.#edited();
					this.#say(`Cut before token ${token + 1}`);
				},
			});
		} else {
			this.#body = new TextBody({
				label: 'Text of the original completion',
				trace: traceCompletion(text, tags),
				found: [],
				behaviors: false,
			});
		}
		fill(this.#original, this.#body.element);
		const cut = button({
			label: 'Cut at Cursor',
			title: 'Delete everything after the cursor (Alt+Delete)',
			onClick: () => this.#cut(),
		});
		fill(
			this.element,
			element(
				'div',
				{ class: 'one-head' },
				button({ label: 'Back to Group', icon: 'previous', onClick: () => this.#model.setMode('group') }).element,
				this.#title,
				element('span', { class: 'quiet' }, this.#model.placeText(place)),
			),
			element(
				'div',
				{ class: 'sides' },
				element(
					'article',
					{ class: 'card', aria: { label: 'Original' } },
					element(
						'header',
						{ class: 'card-head' },
						element('strong', null, 'Original'),
						element(
							'p',
							{ class: 'quiet note' },
							tokens
								? 'Click a token, or press Enter on it, to cut there.'
								: 'Tokens were not recorded. Cut in the text field instead.',
						),
					),
					this.#original,
				),
				element(
					'div',
					{ class: 'continue-column' },
					this.#policy,
					element('div', { class: 'continue-label' }, element('strong', null, 'Prefix'), this.#count, cut.element),
					this.#prefix,
					element(
						'div',
						{ class: 'continue-tools' },
						element('span', { class: 'labeled' }, 'Temperature', this.#temperature.element),
						element('span', { class: 'labeled' }, 'Max new tokens', this.#tokens.element),
						this.#generate.element,
						this.#stop.element,
					),
					this.#results,
				),
			),
		);
	}

	#cut(): void {
		this.#prefix.value = this.#prefix.value.slice(0, this.#prefix.selectionStart);
		this.#edited();
		this.#prefix.focus();
	}

	#edited(): void {
		this.#drawCount();
		this.#keep();
	}

	#keep(): void {
		const place = this.#made.content?.place;
		if (place === undefined) return;
		const [temperature, tokens] = [this.#temperature.value, this.#tokens.value];
		this.#made.setDraft({ place, prefix: this.#prefix.value, temperature, tokens });
	}

	#drawCount(): void {
		const { value } = this.#prefix;
		const hidden = hiddenCharacters(value.slice(0, 100_000));
		const named = [...new Set(hidden.map(({ label }) => label))].slice(0, 4).join(', ');
		setText(
			this.#count,
			`${formatCounted(value.length, 'character')}${hidden.length > 0 ? `, ${hidden.length} invisible (${named})` : ''}`,
		);
	}

	#start(): void {
		const { content, running } = this.#made;
		if (!content?.policy.ready || running) return;
		const temperature = Number(this.#temperature.value.replace(',', '.'));
		const maxTokens = Number(this.#tokens.value);
		if (!(temperature >= 0 && temperature <= 10)) {
			this.#say('Temperature must be a number from 0 to 10.');
			this.#temperature.focus();
			return;
		}
		if (!Number.isInteger(maxTokens) || maxTokens < 1 || maxTokens > 100_000) {
			this.#say('Max new tokens must be from 1 to 100,000.');
			this.#tokens.focus();
			return;
		}
		this.#made.start(this.#prefix.value, { temperature, maxTokens });
	}

	#drawResults(): void {
		for (const body of this.#resultBodies) body.dispose();
		this.#resultBodies = [];
		const tags = tagsOf(this.#model);
		fill(
			this.#results,
			...this.#made.own.map((one) => {
				const text = one.prefix + one.text;
				const body = new TextBody({
					label: `Continuation ${one.number}`,
					trace: traceCompletion(text, tags),
					found: [
						...(one.prefix === '' ? [] : [{ start: 0, end: one.prefix.length, kind: 'common', title: 'Prefix' }]),
						{ start: one.prefix.length, end: text.length, kind: 'differs' },
					],
					behaviors: true,
				});
				this.#resultBodies.push(body);
				if (one.prefix.length > 400) requestAnimationFrame(() => body.reveal(one.prefix.length, 'differs'));
				return element(
					'article',
					{ class: 'card', aria: { label: `Continuation ${one.number}` } },
					element(
						'header',
						{ class: 'card-head' },
						element(
							'div',
							{ class: 'card-title' },
							element('span', { class: 'card-index' }, `Continuation ${one.number}`),
							element('span', { class: 'quiet', role: one.state === 'failed' ? 'alert' : 'status' }, stateWords(one)),
						),
					),
					element('div', { class: 'card-body' }, body.element),
				);
			}),
		);
	}

	#clear(): void {
		this.#body?.dispose();
		this.#body = null;
		for (const body of this.#resultBodies) body.dispose();
		this.#resultBodies = [];
	}
}
