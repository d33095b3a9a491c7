import { Disposable } from '../../src/base/disposable.ts';
import { Failure } from '../../src/base/failure.ts';
import { formatCounted, formatDuration, formatNumber } from '../../src/base/format.ts';
import type { Exchange, PlaygroundSide } from '../../src/protocol/playgroundMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { tokenLabel } from '../lib/tokens/alternativeList.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { appendMarked } from '../lib/trace/textBody.ts';
import type { PlaygroundModel } from './playgroundModel.ts';
import { type SampleActions, SampleCard } from './sampleCard.ts';

/** Maximum number of prompt characters to display. */
const maxShown = 20_000;

/** Exchange with the prompt and a column per policy. */
export class ExchangeView extends Disposable {
	readonly element = element('section', { class: 'exchange', aria: { label: 'Exchange' } });
	readonly #model: PlaygroundModel;
	readonly #actions: SampleActions;
	readonly #question = element('div', { class: 'question-text' });
	readonly #facts = element('p', { class: 'quiet' });
	readonly #text = button({
		label: 'Text',
		pressed: true,
		title: 'Show thinking and answer separately',
		onClick: () => this.#see(false),
	});
	readonly #tokens = button({
		label: 'Tokens',
		pressed: false,
		title: 'Show token probabilities and alternatives',
		onClick: () => this.#see(true),
	});
	readonly #back = button({
		label: 'Back to Branch Point',
		icon: 'previous',
		onClick: () => this.#goBack(),
	});
	readonly #check = button({
		label: 'Check Expected Answer',
		title: 'Score the completions against the expected answer above',
		onClick: () => this.#checkAgain(),
	});
	readonly #sides = element('div', { class: 'sides' });
	readonly #problem = element('p', { class: 'problem', role: 'alert' });
	#cards: SampleCard[][] = [];
	#words: HTMLElement[] = [];
	#drawn: Exchange | null = null;
	#drawnTokens: boolean | null = null;

	constructor(model: PlaygroundModel, actions: SampleActions) {
		super();
		this.#model = model;
		this.#actions = actions;
		this.element.append(
			element(
				'div',
				{ class: 'exchange-head' },
				this.#question,
				element('span', { class: 'spacer' }),
				this.#back.element,
				element(
					'div',
					{ class: 'switch', role: 'group', aria: { label: 'View' } },
					this.#text.element,
					this.#tokens.element,
				),
				this.#check.element,
			),
			this.#facts,
			this.#problem,
			this.#sides,
		);
		this.register({ dispose: () => this.#clear() });
	}

	draw(): void {
		const exchange = this.#model.shown;
		this.element.hidden = exchange === undefined;
		if (exchange === undefined) {
			this.#clear();
			this.#drawn = null;
			return;
		}
		const { tokens, expected } = this.#model.form;
		const { running } = this.#model;
		this.#text.setPressed(!tokens);
		this.#tokens.setPressed(tokens);
		this.#back.setHidden(
			exchange.branch === null || !this.#model.exchanges.some(({ id }) => id === exchange.branch?.exchange),
		);
		this.#check.setHidden(
			expected.trim() === exchange.expected.trim() || exchange.sides.every(({ samples }) => samples.length === 0),
		);
		this.#check.setDisabled(running || this.#model.forbidden !== null);
		if (this.#drawn === exchange && this.#drawnTokens === tokens) return;
		const sameOne = this.#drawn?.id === exchange.id && this.#cards.length === exchange.sides.length;
		this.#drawn = exchange;
		this.#drawnTokens = tokens;
		if (!sameOne) setText(this.#problem, '');
		this.#drawQuestion(exchange);
		this.#drawSides(exchange, tokens, sameOne);
	}

	/** Called when new text has arrived. */
	write(): void {
		const exchange = this.#model.shown;
		if (exchange === undefined || this.#drawn?.id !== exchange.id) return;
		for (const [at, side] of exchange.sides.entries()) {
			const before = this.#drawn?.sides[at]?.samples;
			for (const [i, sample] of side.samples.entries()) {
				if (before?.[i] !== sample) this.#cards[at]?.[i]?.write(side, sample);
			}
		}
	}

	#drawQuestion({ question, branch, sampling, expected, template }: Exchange): void {
		fill(this.#question);
		if (branch === null)
			appendMarked(this.#question, question.slice(0, maxShown), 0, Math.min(question.length, maxShown), []);
		else {
			this.#question.append(
				`Branch at token ${branch.token + 1}: “${tokenLabel(branch.to)}” instead of “${tokenLabel(branch.from)}”`,
			);
		}
		const facts = [
			`temperature ${formatNumber(sampling.temperature, 3)}`,
			sampling.topP < 1 ? `top-p ${formatNumber(sampling.topP, 3)}` : '',
			`seed ${sampling.seed}`,
			template.mode === 'own' ? '' : template.mode === 'raw' ? 'no template' : 'custom template',
			expected === '' ? '' : `expected: ${plainLabel(expected, 100)}`,
		];
		setText(this.#facts, facts.filter((fact) => fact !== '').join(' · '));
	}

	#drawSides(exchange: Exchange, tokens: boolean, sameOne: boolean): void {
		if (!sameOne) {
			this.#clear();
			this.#sides.classList.toggle('two', exchange.sides.length > 1);
			this.#cards = exchange.sides.map(() => []);
			this.#words = exchange.sides.map(() => element('div', { class: 'side-head' }));
			fill(
				this.#sides,
				...exchange.sides.map((side, at) =>
					element(
						'section',
						{ class: 'side', aria: { label: plainLabel(side.name, 120) } },
						this.#words[at] as HTMLElement,
						element('div', { class: 'cards' }),
					),
				),
			);
		}
		for (const [at, side] of exchange.sides.entries()) {
			const head = this.#words[at] as HTMLElement;
			// Sides are redrawn whenever their state changes, which must not close the prompt that the user is reading.
			const open = head.querySelector('details')?.open ?? false;
			const choose = () => this.#model.host.post({ type: 'choosePolicy', side: at === 0 ? 0 : 1 });
			fill(head, ...sideHead(side, choose, open));
			const cards = this.#cards[at] as SampleCard[];
			while (cards.length > side.samples.length) cards.pop()?.dispose();
			const holder = this.#sides.children[at]?.querySelector('.cards');
			for (const [sample, one] of side.samples.entries()) {
				let card = cards[sample];
				if (card === undefined) {
					const place = { exchange: exchange.id, side: at, sample };
					card = new SampleCard(place, `${plainLabel(side.name, 100)}, completion ${sample + 1}`, this.#actions);
					cards.push(card);
					holder?.append(card.element);
				}
				card.draw(exchange, side, one, tokens);
			}
		}
	}

	#see(tokens: boolean): void {
		this.#model.setTokens(tokens);
	}

	#goBack(): void {
		const from = this.#model.shown?.branch?.exchange;
		if (from !== undefined) this.#model.host.post({ type: 'show', exchange: from });
	}

	#checkAgain(): void {
		const { shown, form } = this.#model;
		if (shown === undefined) return;
		setText(this.#problem, '');
		this.#model.host
			.request('check', { exchange: shown.id, expected: form.expected })
			.catch((error: unknown) => this.showFailure(Failure.from(error)));
	}

	/** Shows why a request failed. */
	showFailure(failure: Failure): void {
		setText(this.#problem, plainLabel(failure.toString(), 1000));
	}

	#clear(): void {
		for (const card of this.#cards.flat()) card.dispose();
		this.#cards = [];
		this.#words = [];
		fill(this.#sides);
	}
}

const states: Readonly<Record<PlaygroundSide['state'], string>> = {
	opening: 'Starting…',
	writing: 'Generating…',
	checking: 'Checking…',
	finished: '',
	stopped: 'Stopped',
	failed: 'Failed',
};

function sideHead(side: PlaygroundSide, choose: () => void, open: boolean): (HTMLElement | null)[] {
	const { state, failure, notes, prompt, system, seconds, samples } = side;
	const tokens = samples.reduce((sum, sample) => sum + sample.tokens, 0);
	const checked = samples.filter(({ check }) => check !== null && check.correct !== null);
	const right = checked.filter(({ check }) => check?.correct === true).length;
	const facts = [
		states[state],
		seconds === null || state === 'failed' ? '' : formatDuration(seconds),
		seconds === null || tokens === 0 ? '' : formatCounted(tokens, 'token'),
		seconds === null || seconds <= 0 || tokens === 0 ? '' : `${formatNumber(tokens / seconds, 3)} tokens/s`,
		checked.length > 1 ? `${right} of ${checked.length} correct` : '',
	];
	return [
		element(
			'p',
			{ class: 'side-name' },
			element('strong', null, plainLabel(side.name, 120)),
			element('span', { class: 'quiet', role: 'status' }, facts.filter((fact) => fact !== '').join(' · ')),
		),
		failure === null
			? null
			: element(
					'div',
					{ class: 'side-failure', role: 'alert' },
					element('p', null, `${plainLabel(failure.message, 1000)} ${plainLabel(failure.action ?? '', 400)}`),
					button({ label: 'Select Different Policy…', onClick: choose }).element,
				),
		notes.length === 0 ? null : element('p', { class: 'quiet' }, notes.map((note) => plainLabel(note, 400)).join(' ')),
		given(prompt, system, open),
	];
}

function given(prompt: string, system: string | null, open: boolean): HTMLElement {
	const text = element('pre', { class: 'given' });
	const all = system === null ? prompt : `${system}\n\n${prompt}`;
	appendMarked(text, all.slice(0, maxShown), 0, Math.min(all.length, maxShown), []);
	return element(
		'details',
		{ class: 'given-part', ...(open ? { attributes: { open: '' } } : {}) },
		element('summary', null, 'Prompt as sent'),
		text,
	);
}
