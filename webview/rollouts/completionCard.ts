import type { IDisposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted, formatNumber, formatPercent } from '../../src/base/format.ts';
import type { Behavior } from '../../src/core/trace/behaviorNames.ts';
import { findText } from '../../src/core/trace/findText.ts';
import type { RolloutDetail, TokenValue } from '../../src/protocol/rolloutsMessages.ts';
import { type ButtonControl, button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import type { IconName } from '../lib/icons.ts';
import { signedBar, signedNumber } from '../lib/signedBar.ts';
import { type CompletionTrace, faultMessages, traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { Mark } from '../lib/trace/marks.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import { truncationBadge } from '../lib/truncationBadge.ts';
import type { CardContext } from './cardContext.ts';
import { cardLabel, missingWords, verdict } from './cardWords.ts';
import { episodeTerms } from './episodeTerms.ts';
import { type PictureView, pictureOf } from './pictureView.ts';
import { RatingControl } from './ratingControl.ts';
import { addsUp } from './rewardParts.ts';
import { findInText, type MarkKind, markNames, mixWords, type TextFindings } from './textMarks.ts';
import { timelineSection } from './timelineSection.ts';
import { TokenBody } from './tokenBody.ts';
import { TurnsBody } from './turnsBody.ts';
import { weightsTerms } from './weightsTerms.ts';

const faultsShown = 4;

/** Card for one completion, with rewards and text. Its content is built when it approaches the viewport. */
export class CompletionCard implements IDisposable {
	readonly element: HTMLElement;
	readonly rollout: RolloutDetail;
	readonly #context: CardContext;
	readonly #holder = element('div', { class: 'card-body' });
	readonly #faults = element('div', { class: 'card-faults' });
	readonly #marks = element('div', { class: 'card-marks', role: 'group', aria: { label: 'Highlights in the text' } });
	readonly #choose: ButtonControl;
	readonly #rating: RatingControl | null;
	#body: (IDisposable & { readonly element: HTMLElement }) | null = null;
	#picture: PictureView | null = null;
	/** Last occurrence shown for each kind of mark. */
	readonly #shownPlace = new Map<MarkKind, number>();
	#idle = 0;
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
			aria: { label: cardLabel(rollout, context.fold(rollout.index)) },
			data: { index: rollout.index },
		});
		this.#choose = button({
			label: `Select completion ${rollout.index}`,
			title: 'Select to compare or export (v)',
			icon: 'check',
			appearance: 'icon',
			pressed: context.isChosen(rollout.index),
			onClick: () => context.toggleChosen(rollout.index),
		});
		this.#rating = context.ratings === null ? null : new RatingControl(rollout.index, context.ratings);
		this.updateChosen();
		this.element.addEventListener('focusin', () => context.select(rollout.index));
		this.element.addEventListener('pointerdown', () => context.select(rollout.index));
	}

	get built(): boolean {
		return this.#built;
	}

	/** Builds the content of the card; later calls have no effect. */
	build(): void {
		if (this.#built || this.#disposed) return;
		this.#built = true;
		this.element.append(this.#head(), this.#faults, this.#marks);
		const { index, activities } = this.rollout;
		if (activities !== undefined) {
			this.element.append(timelineSection(index, activities, () => this.#context.loadTimeline(index)));
		}
		this.#picture = pictureOf(this.rollout, this.#context.picture);
		if (this.#picture !== null) this.element.append(this.#picture.element);
		this.element.append(this.#holder);
		this.#marks.hidden = true;
		void this.#fill();
	}

	setSelected(selected: boolean): void {
		this.element.classList.toggle('selected', selected);
		this.element.tabIndex = selected ? 0 : -1;
	}

	updateChosen(): void {
		const chosen = this.#context.isChosen(this.rollout.index);
		this.#choose.setPressed(chosen);
		this.element.classList.toggle('chosen', chosen);
	}

	updateRating(): void {
		this.#rating?.update();
	}

	dispose(): void {
		this.#disposed = true;
		cancelIdleCallback(this.#idle);
		this.#picture?.dispose();
		this.#body?.dispose();
		this.element.remove();
	}

	#head(): HTMLElement {
		const { rollout } = this;
		const { index } = rollout;
		return element(
			'header',
			{ class: 'card-head' },
			element(
				'div',
				{ class: 'card-title' },
				element('span', { class: 'card-index' }, `#${index}`),
				verdict(rollout),
				truncationBadge(rollout.truncated),
				this.#fold(),
				this.#actions(),
			),
			this.#rewards(),
			this.#rating?.element,
		);
	}

	/** Creates the "×3 identical" toggle. Other completions in an expanded fold show which one they are identical to. */
	#fold(): HTMLElement | null {
		const { index } = this.rollout;
		const fold = this.#context.fold(index);
		if (fold === null) return null;
		if (fold.first !== index) return element('span', { class: 'quiet' }, `same as #${fold.first}`);
		const title = `${fold.expanded ? 'Collapse' : 'Expand'} completions identical to #${index} (i)`;
		return element(
			'button',
			{
				class: 'chip fold',
				attributes: { type: 'button', 'aria-expanded': String(fold.expanded) },
				title,
				on: { click: () => this.#context.toggleFold(index) },
			},
			`×${fold.count} identical`,
		);
	}

	#actions(): HTMLElement {
		const { index } = this.rollout;
		const context = this.#context;
		const action = (label: string, title: string, icon: IconName, onClick: () => void) =>
			button({ label, title, icon, appearance: 'icon', onClick }).element;
		return element(
			'span',
			{ class: 'card-actions' },
			this.#choose.element,
			action(`Label the steps of completion ${index}`, 'Label steps', 'label', () => context.label(index)),
			action(`Continue from completion ${index}`, 'Continue from here', 'continue', () => context.continueFrom(index)),
			action(`Copy completion ${index}`, 'Copy', 'copy', () => context.copy(index, 'completion')),
			action(`Copy completion ${index} as JSON`, 'Copy as JSON', 'braces', () => context.copy(index, 'json')),
			action(`Open completion ${index} as text`, 'Open as text', 'open', () => context.openText(index)),
			// The transcript view is not useful for a single message.
			(this.rollout.turns ?? null) !== null &&
				action(`Inspect the messages in completion ${index}`, 'Open as transcript', 'log', () =>
					context.openTranscript(index),
				),
			this.rollout.episode?.repeatable === true &&
				action(`Open the episode of completion ${index}`, 'Open episode', 'branch', () => context.openEpisode(index)),
		);
	}

	/** Renders "Reward 1.2 = accuracy 1 × 1 + format 1 × 0.2", with the advantage below it. */
	#rewards(): HTMLElement {
		const { rollout } = this;
		const { weights, sums, largestAdvantage } = this.#context;
		// Components recorded by other trainers do not necessarily add up to the reward.
		const [first, next] = sums && addsUp(rollout, weights) ? ['= ', '+ '] : ['with ', '· '];
		const parts = rollout.rewards.map(([name, value], i) => {
			const weight = weights.get(name);
			return element(
				'span',
				{ class: 'component', title: value === null ? 'This reward does not apply to this row' : '' },
				element('span', { class: 'quiet' }, i === 0 ? first : next, plainLabel(name, 60), ' '),
				formatNumber(value, 3),
				weight !== undefined && element('span', { class: 'quiet', title: 'Weight' }, ` × ${formatNumber(weight, 3)}`),
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
				rollout.advantage !== null && element('span', { class: 'advantage-value' }, signedNumber(rollout.advantage)),
				rollout.advantage === null
					? element('span', { class: 'quiet' }, 'not recorded')
					: signedBar(rollout.advantage, largestAdvantage),
			),
			element('dt', null, 'Length'),
			element(
				'dd',
				{ class: 'card-length' },
				rollout.tokens === null ? formatCounted(rollout.size, 'character') : formatCounted(rollout.tokens, 'token'),
				(rollout.observed ?? 0) > 0 && ` (${formatCount(rollout.observed)} from the environment)`,
				(rollout.turns ?? null) !== null && `, ${formatCounted(rollout.turns, 'message')}`,
			),
			...weightsTerms(rollout.weights),
			...episodeTerms(rollout.episode ?? null),
		);
	}

	async #fill(): Promise<void> {
		const { index } = this.rollout;
		try {
			if (this.#text === null) {
				fill(
					this.#holder,
					element('p', { class: 'quiet' }, `Loading ${formatCounted(this.rollout.size, 'character')}…`),
				);
				this.#text = await this.#context.loadCompletion(index);
			}
			if (this.#disposed) return;
			const { tokenView } = this.#context;
			this.#trace = traceCompletion(this.#text, this.#context.tags);
			this.#context.traced(index, this.#trace);
			const several = (this.rollout.turns ?? null) !== null;
			// Template tags apply to plain text; in a conversation, each message has its own tags.
			if (!several && this.rollout.textRecorded !== false) this.#drawFaults(this.#trace);
			if (tokenView !== 'off' && this.#has(tokenView)) await this.#drawTokens(tokenView);
			else if (several) await this.#drawTurns();
			else this.#drawText(this.#trace);
			if (!this.#disposed) this.#idle = requestIdleCallback(() => this.#look(), { timeout: 2000 });
		} catch (error) {
			if (this.#disposed) return;
			fill(this.#holder, element('p', { class: 'quiet', role: 'alert' }, String(error)));
		}
	}

	#drawText(trace: CompletionTrace): void {
		const { index } = this.rollout;
		if (trace.text === '') {
			const why = this.rollout.textRecorded === false ? 'The trainer did not record the text.' : 'Empty completion.';
			fill(this.#holder, element('p', { class: 'quiet' }, why));
			return;
		}
		const found = findText(trace.text, this.#context.search).map((match): Mark => ({ ...match, kind: 'found' }));
		const body = new TextBody({
			label: `Text of completion ${index}`,
			trace,
			found,
			behaviors: true,
		});
		this.#body = body;
		const { tokenView } = this.#context;
		const note = tokenView !== 'off' && element('p', { class: 'quiet' }, missingWords(this.rollout, tokenView));
		fill(this.#holder, note, body.element);
		const first = found[0];
		if (first) requestAnimationFrame(() => body.reveal(first.start));
	}

	/** Returns whether a token value was recorded. Older extension versions only report whether any were recorded. */
	#has(view: TokenValue): boolean {
		return this.rollout.tokenValues?.includes(view) ?? (this.rollout.hasTokens && view === 'logprob');
	}

	async #drawTurns(): Promise<void> {
		const { index } = this.rollout;
		const content = await this.#context.loadTurns(index);
		if (this.#disposed) return;
		const { tags, search } = this.#context;
		const body = new TurnsBody({ label: `Messages of completion ${index}`, content, tags, search });
		this.#body = body;
		fill(this.#holder, body.element);
	}

	/** Analyzes the text after it has been rendered. */
	#look(): void {
		if (this.#disposed || this.#trace === null) return;
		const findings = findInText(this.#trace, this.#context.tags);
		if (this.#body instanceof TextBody) {
			const found = findText(this.#trace.text, this.#context.search).map(
				(match): Mark => ({ ...match, kind: 'found' }),
			);
			if (findings.marks.length > 0) this.#body.mark([...found, ...findings.marks]);
		}
		this.#drawMarks(this.#trace, findings);
		this.#context.found(this.rollout.index, findings);
	}

	/** Renders the counts of behaviors and other findings. Clicking a count steps through the occurrences. */
	#drawMarks(trace: CompletionTrace, { faithfulness, repetition, mix, marks }: TextFindings): void {
		const chips: HTMLElement[] = [];
		const all = [...trace.marks, ...marks];
		const chip = (kind: MarkKind, text: string, title: string, warning = false): void => {
			const places = all.filter((mark) => mark.kind === kind);
			const node = element(
				'button',
				{ class: `chip${warning ? ' warning' : ''}`, attributes: { type: 'button' }, title },
				text,
			);
			node.addEventListener('click', () => this.#showPlace(kind, places));
			chips.push(node);
		};
		if (faithfulness && !faithfulness.agrees) {
			const [concluded, answer] = [plainLabel(faithfulness.concluded, 40), plainLabel(faithfulness.answer, 40)];
			chip(
				'concluded',
				`The thinking section concludes ${concluded}, but the answer is ${answer}`,
				markNames.concluded.title,
				true,
			);
		}
		if (repetition) {
			const share = formatPercent(repetition.share, 0);
			chip('repeated', `Repetition: ${share}`, `${share} of 4-grams are repeated`, true);
		}
		if (mix) chip('foreign', `Mixed languages: ${mixWords(mix)}`, markNames.foreign.title, true);
		for (const [behavior, count] of trace.behaviors as ReadonlyMap<Behavior, number>) {
			const kind: MarkKind = `behavior-${behavior}`;
			chip(kind, `${markNames[kind].name} ${count}`, `${markNames[kind].title}. Click to step through.`);
		}
		fill(this.#marks, ...chips);
		this.#marks.hidden = chips.length === 0;
	}

	#showPlace(kind: MarkKind, places: readonly Mark[]): void {
		this.#context.showMarks(kind);
		const next = ((this.#shownPlace.get(kind) ?? -1) + 1) % Math.max(1, places.length);
		this.#shownPlace.set(kind, next);
		const place = places[next];
		if (place && this.#body instanceof TextBody) this.#body.reveal(place.start, kind);
	}

	async #drawTokens(view: TokenValue): Promise<void> {
		const { index } = this.rollout;
		fill(this.#holder, element('p', { class: 'quiet' }, 'Loading tokens…'));
		const tokens = await this.#context.loadTokens(index);
		if (this.#disposed) return;
		const cited = this.#context.cited(index);
		const body = new TokenBody(`Tokens of completion ${index}`, tokens, view, {
			largestAdvantage: this.#context.largestAdvantage,
			...(cited === null ? {} : { cited }),
		});
		this.#body = body;
		fill(this.#holder, body.element);
		if (cited !== null) requestAnimationFrame(() => body.reveal(cited[0]));
	}

	#drawFaults({ trace }: CompletionTrace): void {
		const { faults } = trace;
		if (faults.length === 0) return;
		const messages = faultMessages(trace);
		fill(
			this.#faults,
			element('span', { class: 'badge warning' }, formatCounted(faults.length, 'format error')),
			element('ul', null, ...messages.slice(0, faultsShown).map((message) => element('li', null, plainLabel(message)))),
			messages.length > faultsShown && element('span', { class: 'quiet' }, `and ${messages.length - faultsShown} more`),
		);
	}
}
