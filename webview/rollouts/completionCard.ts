import type { IDisposable } from '../../src/base/disposable.ts';
import { findText } from '../../src/core/trace/findText.ts';
import type { TraceTags } from '../../src/core/trace/trace.ts';
import type { RolloutDetail, TokenColumns } from '../../src/protocol/rolloutsMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { formatCount, formatNumber } from '../lib/format.ts';
import { signedBar, signedNumber } from '../lib/signedBar.ts';
import { type CompletionTrace, faultMessages, traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { Mark } from '../lib/trace/marks.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import type { TokenView } from './savedState.ts';
import { TokenBody } from './tokenBody.ts';

/** What a card needs of the panel around it. */
export interface CardContext {
	readonly tags: TraceTags;
	readonly weights: ReadonlyMap<string, number>;
	/** Largest size of an advantage in the group. */
	readonly largestAdvantage: number;
	readonly search: string;
	readonly tokenView: TokenView;
	readonly behaviours: boolean;
	loadCompletion(index: number): Promise<string>;
	loadTokens(index: number): Promise<TokenColumns>;
	copy(index: number, part: 'completion' | 'json'): void;
	openText(index: number): void;
	select(index: number): void;
	/** Told when a completion was taken apart, for the legend. */
	traced(index: number, trace: CompletionTrace): void;
}

const faultsShown = 4;

/** One completion: what it earned and why, and its text. Built when it comes near the view. */
export class CompletionCard implements IDisposable {
	readonly element: HTMLElement;
	readonly rollout: RolloutDetail;
	readonly #context: CardContext;
	readonly #holder = element('div', { class: 'card-body' });
	readonly #faults = element('div', { class: 'card-faults' });
	#body: (IDisposable & { readonly element: HTMLElement }) | null = null;
	#text: string | null;
	#trace: CompletionTrace | null = null;
	#built = false;
	#disposed = false;

	constructor(rollout: RolloutDetail, context: CardContext) {
		this.rollout = rollout;
		this.#context = context;
		this.#text = rollout.completion;
		this.element = element('article', {
			class: 'card',
			tabIndex: -1,
			aria: { label: cardLabel(rollout) },
			data: { index: rollout.index },
		});
		this.element.addEventListener('focusin', () => context.select(rollout.index));
		this.element.addEventListener('pointerdown', () => context.select(rollout.index));
	}

	get built(): boolean {
		return this.#built;
	}

	/** Draws the card; a second call does nothing. */
	build(): void {
		if (this.#built || this.#disposed) return;
		this.#built = true;
		this.element.append(this.#head(), this.#faults, this.#holder);
		void this.#fill();
	}

	setSelected(selected: boolean): void {
		this.element.classList.toggle('selected', selected);
		this.element.tabIndex = selected ? 0 : -1;
	}

	dispose(): void {
		this.#disposed = true;
		this.#body?.dispose();
		this.element.remove();
	}

	#head(): HTMLElement {
		const { rollout } = this;
		const { copy, openText } = this.#context;
		const { index } = rollout;
		const length =
			rollout.tokens === null ? `${formatCount(rollout.size)} characters` : `${formatCount(rollout.tokens)} tokens`;
		return element(
			'header',
			{ class: 'card-head' },
			element(
				'div',
				{ class: 'card-title' },
				element('span', { class: 'card-index' }, `#${index}`),
				verdict(rollout),
				rollout.truncated &&
					element(
						'span',
						{ class: 'badge warning', title: 'Cut off at the longest completion that is sampled' },
						'Truncated',
					),
				element('span', { class: 'card-length' }, length),
				element(
					'span',
					{ class: 'card-actions' },
					button({
						label: `Copy completion ${index}`,
						icon: 'copy',
						appearance: 'icon',
						onClick: () => copy(index, 'completion'),
					}).element,
					button({
						label: `Copy completion ${index} as JSON`,
						icon: 'braces',
						appearance: 'icon',
						onClick: () => copy(index, 'json'),
					}).element,
					button({
						label: `Open completion ${index} as text`,
						icon: 'open',
						appearance: 'icon',
						onClick: () => openText(index),
					}).element,
				),
			),
			this.#rewards(),
		);
	}

	/** "Reward 1.2 = accuracy 1 × 1 + format 1 × 0.2", and the advantage below it. */
	#rewards(): HTMLElement {
		const { rollout } = this;
		const { weights, largestAdvantage } = this.#context;
		const parts = rollout.rewards.map(([name, value], i) => {
			const weight = weights.get(name);
			return element(
				'span',
				{ class: 'component', title: value === null ? 'This reward does not apply here' : '' },
				element('span', { class: 'quiet' }, i === 0 ? '= ' : '+ ', plainLabel(name, 60), ' '),
				formatNumber(value, 3),
				weight !== undefined &&
					element('span', { class: 'quiet', title: 'Weight in the sum' }, ` × ${formatNumber(weight, 3)}`),
			);
		});
		return element(
			'dl',
			{ class: 'rewards' },
			element('dt', null, 'Reward'),
			element('dd', { class: 'components' }, element('strong', null, formatNumber(rollout.reward, 4)), ...parts),
			element('dt', null, 'Advantage'),
			element(
				'dd',
				{ class: 'advantage' },
				element('span', { class: 'advantage-value' }, signedNumber(rollout.advantage)),
				signedBar(rollout.advantage, largestAdvantage),
			),
		);
	}

	async #fill(): Promise<void> {
		const { index } = this.rollout;
		try {
			if (this.#text === null) {
				fill(this.#holder, element('p', { class: 'quiet' }, `Loading ${formatCount(this.rollout.size)} characters…`));
				this.#text = await this.#context.loadCompletion(index);
			}
			if (this.#disposed) return;
			this.#trace = traceCompletion(this.#text, this.#context.tags);
			this.#context.traced(index, this.#trace);
			this.#drawFaults(this.#trace);
			if (this.#context.tokenView !== 'off' && this.rollout.hasTokens) await this.#drawTokens(this.#context.tokenView);
			else this.#drawText(this.#trace);
		} catch (error) {
			if (this.#disposed) return;
			fill(this.#holder, element('p', { class: 'quiet', role: 'alert' }, String(error)));
		}
	}

	#drawText(trace: CompletionTrace): void {
		const { index } = this.rollout;
		if (trace.text === '') {
			fill(this.#holder, element('p', { class: 'quiet' }, 'The completion is empty.'));
			return;
		}
		const found = findText(trace.text, this.#context.search).map((match): Mark => ({ ...match, kind: 'found' }));
		const body = new TextBody({
			label: `Text of completion ${index}`,
			trace,
			found,
			behaviours: this.#context.behaviours,
		});
		this.#body = body;
		const note = this.#context.tokenView !== 'off' && element('p', { class: 'quiet' }, 'Its tokens were not logged.');
		fill(this.#holder, note, body.element);
		const first = found[0];
		if (first) requestAnimationFrame(() => body.reveal(first.start));
	}

	async #drawTokens(view: Exclude<TokenView, 'off'>): Promise<void> {
		const { index } = this.rollout;
		fill(this.#holder, element('p', { class: 'quiet' }, 'Loading tokens…'));
		const tokens = await this.#context.loadTokens(index);
		if (this.#disposed) return;
		const body = new TokenBody(`Tokens of completion ${index}`, tokens, view);
		this.#body = body;
		const missing = view === 'entropy' && tokens.entropy === null;
		fill(this.#holder, missing && element('p', { class: 'quiet' }, 'Entropy was not logged.'), body.element);
	}

	#drawFaults({ trace }: CompletionTrace): void {
		const { faults } = trace;
		if (faults.length === 0) return;
		const messages = faultMessages(trace);
		fill(
			this.#faults,
			element(
				'span',
				{ class: 'badge warning' },
				faults.length === 1 ? '1 fault of form' : `${faults.length} faults of form`,
			),
			element('ul', null, ...messages.slice(0, faultsShown).map((message) => element('li', null, plainLabel(message)))),
			messages.length > faultsShown && element('span', { class: 'quiet' }, `and ${messages.length - faultsShown} more`),
		);
	}
}

function verdict(rollout: RolloutDetail): HTMLElement | null {
	if (rollout.correct === null) return null;
	return rollout.correct
		? element('span', { class: 'badge right' }, '✓ Correct')
		: element('span', { class: 'badge wrong' }, '✗ Wrong');
}

/** The card in one sentence, for screen readers. */
export function cardLabel(rollout: RolloutDetail): string {
	const parts = [`Completion ${rollout.index}`];
	if (rollout.correct !== null) parts.push(rollout.correct ? 'correct' : 'wrong');
	parts.push(`reward ${formatNumber(rollout.reward, 4)}`, `advantage ${signedNumber(rollout.advantage)}`);
	parts.push(rollout.tokens === null ? `${rollout.size} characters` : `${rollout.tokens} tokens`);
	if (rollout.truncated) parts.push('truncated');
	return parts.join(', ');
}
