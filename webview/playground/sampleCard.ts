import type { IDisposable } from '../../src/base/disposable.ts';
import { formatCounted, formatNumber } from '../../src/base/format.ts';
import { whyNoBranch } from '../../src/core/playground/branching.ts';
import { sideTags } from '../../src/core/playground/exchangeText.ts';
import type { Exchange, PlaygroundSample, PlaygroundSide } from '../../src/protocol/playgroundMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { alternativeList } from '../lib/tokens/alternativeList.ts';
import { TokenView } from '../lib/tokens/tokenView.ts';
import { traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { TextBody } from '../lib/trace/textBody.ts';

export interface SamplePlace {
	readonly exchange: number;
	readonly side: number;
	readonly sample: number;
}

export interface SampleActions {
	readonly copy: (place: SamplePlace, as: 'completion' | 'api') => void;
	readonly save: (place: SamplePlace) => void;
	readonly branch: (place: SamplePlace, token: number, text: string) => void;
	/** Returns whether a generation is in progress. If so, branching is disabled. */
	readonly running: () => boolean;
}

type Body = IDisposable & { readonly element: HTMLElement };

/** Redraw interval while text is arriving, as a multiple of the duration of the last redraw. */
const patience = 8;

/** Card for one completion, shown as text or token by token, with badges and rewards. */
export class SampleCard implements IDisposable {
	readonly element: HTMLElement;
	readonly #place: SamplePlace;
	readonly #actions: SampleActions;
	readonly #holder = element('div', { class: 'card-body' });
	readonly #head = element('header', { class: 'card-head' });
	#body: Body | null = null;
	#next = 0;

	constructor(place: SamplePlace, label: string, actions: SampleActions) {
		this.#place = place;
		this.#actions = actions;
		this.element = element('article', { class: 'card', aria: { label } }, this.#head, this.#holder);
	}

	dispose(): void {
		this.#body?.dispose();
		this.element.remove();
	}

	/** Draws the text received so far. Skips updates if drawing is slow. */
	write(side: PlaygroundSide, sample: PlaygroundSample): void {
		const now = performance.now();
		if (now < this.#next) return;
		this.#text(side, sample);
		this.element.querySelector('.text-body')?.scrollTo(0, 1e9);
		this.#next = performance.now() + (performance.now() - now) * patience;
	}

	draw(exchange: Exchange, side: PlaygroundSide, sample: PlaygroundSample, tokens: boolean): void {
		const done = sample.finish !== null;
		const name = side.samples.length > 1 ? `Sample ${this.#place.sample + 1}` : 'Completion';
		fill(
			this.#head,
			element('span', { class: 'card-index' }, name),
			...badges(exchange, sample),
			element('span', { class: 'spacer' }),
			...(done ? this.#buttons() : []),
			rewards(sample),
		);
		if (tokens && sample.detail !== null && done) this.#tokens(side, sample);
		else {
			this.#text(side, sample);
			if (tokens && done && sample.detail === null) {
				this.#holder.prepend(element('p', { class: 'quiet note' }, 'Tokens were not recorded.'));
			}
		}
	}

	#text(side: PlaygroundSide, { text, given, finish }: PlaygroundSample): void {
		const trace = traceCompletion(text, sideTags(side, text));
		const before = given === 0 ? [] : [{ start: 0, end: given, kind: 'common', title: 'Given prefix' }];
		const body = new TextBody({ label: 'Text', trace, found: before, behaviors: finish !== null });
		const empty = element(
			'p',
			{ class: 'quiet note' },
			finish === null ? 'Waiting for the first token…' : 'Empty completion.',
		);
		this.#show(body, text === '' ? empty : null);
	}

	#tokens(side: PlaygroundSide, sample: PlaygroundSample): void {
		const { detail } = sample;
		if (detail === null) return;
		const { entropy, top, ...statistics } = detail;
		const why = whyNoBranch(sample, side.can.prefix);
		this.#show(
			new TokenView({
				label: 'Tokens',
				detail: {
					...statistics,
					...(entropy === undefined ? {} : { entropy }),
					...(top === undefined ? {} : { top }),
				} as ConstructorParameters<typeof TokenView>[0]['detail'],
				statistic: 'logprob',
				canForce: why ?? true,
				noAlternatives: 'The policy returned no alternatives here.',
				onForce: (token, text) => {
					if (!this.#actions.running()) this.#actions.branch(this.#place, token, text);
				},
			}),
			null,
		);
		const { thoughts = [] } = sample;
		if (thoughts.length > 0) this.#holder.prepend(latentThoughts(thoughts));
	}

	#show(body: Body, note: HTMLElement | null): void {
		this.#body?.dispose();
		this.#body = body;
		fill(this.#holder, note ?? body.element);
	}

	#buttons(): HTMLElement[] {
		const place = this.#place;
		const { copy, save } = this.#actions;
		return [
			button({
				label: 'Copy',
				icon: 'copy',
				appearance: 'icon',
				title: 'Copy completion',
				onClick: () => copy(place, 'completion'),
			}).element,
			button({
				label: 'Copy as API call',
				icon: 'braces',
				appearance: 'icon',
				title: 'Copy as shell commands for the Reasoner API',
				onClick: () => copy(place, 'api'),
			}).element,
			button({ label: 'Save as Case', title: 'Add to the labeled test cases for a reward', onClick: () => save(place) })
				.element,
		];
	}
}

function badges({ sampling, expected }: Exchange, { finish, check, tokens, given }: PlaygroundSample): HTMLElement[] {
	const badge = (kind: string, words: string, title = '') =>
		element('span', { class: `badge ${kind}`, ...(title === '' ? {} : { title }) }, words);
	const list: HTMLElement[] = [];
	if (check !== null) {
		const title = `The expected answer is ${plainLabel(expected, 200)}`;
		if (check.correct === true) list.push(badge('right', 'Correct', title));
		else if (check.correct === false) list.push(badge('wrong', 'Incorrect', title));
		else list.push(badge('', 'Not scored', 'The accuracy reward does not apply'));
	}
	if (finish === 'length') {
		list.push(badge('warning', 'Truncated', `Truncated after ${formatCounted(sampling.maxTokens, 'token')}`));
	}
	if (finish === 'context') list.push(badge('warning', 'Context full', 'The context window is full'));
	if (finish === 'cut') list.push(badge('warning', 'Truncated', 'The text is too long to show'));
	if (finish === 'refusal') list.push(badge('warning', 'Declined'));
	if (finish === 'stopped') list.push(badge('dead', 'Stopped'));
	if (finish !== null) {
		const words = formatCounted(tokens, given > 0 ? 'new token' : 'token');
		list.push(element('span', { class: 'quiet' }, words));
	}
	return list;
}

/** Renders the tokens that the policy's output head predicts from the latent thoughts before a completion. */
function latentThoughts(thoughts: NonNullable<PlaygroundSample['thoughts']>): HTMLElement {
	return element(
		'details',
		{ class: 'thoughts' },
		element('summary', null, formatCounted(thoughts.length, 'latent thought')),
		element(
			'ol',
			{ aria: { label: 'Most likely tokens for each latent thought' } },
			...thoughts.map((top) =>
				element(
					'li',
					null,
					alternativeList(top.map(([text, logprob]) => ({ text, probability: Math.exp(logprob), taken: false }))),
				),
			),
		),
	);
}

/** Renders the values of the run's rewards. */
function rewards({ check }: PlaygroundSample): HTMLElement | null {
	if (check === null || check.rewards.length === 0) return null;
	return element(
		'ul',
		{ class: 'rewards', aria: { label: 'Rewards' } },
		...check.rewards.map(({ name, value, error }) =>
			element(
				'li',
				{ ...(error === null ? {} : { title: plainLabel(error, 400) }) },
				element('span', { class: 'quiet' }, `${plainLabel(name, 60)} `),
				error !== null ? element('span', { class: 'failed' }, 'failed') : value === null ? '—' : formatNumber(value, 3),
			),
		),
	);
}
