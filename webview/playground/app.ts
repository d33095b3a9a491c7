import { Disposable } from '../../src/base/disposable.ts';
import { Failure } from '../../src/base/failure.ts';
import { isRunning } from '../../src/core/playground/history.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { element, fill } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { ExchangeView } from './exchangeView.ts';
import { HistoryList } from './historyList.ts';
import type { Change, PlaygroundModel } from './playgroundModel.ts';
import { PolicyBar } from './policyBar.ts';
import { QuestionForm } from './questionForm.ts';
import type { SampleActions } from './sampleCard.ts';

/** Playground with policies, question, history, and the current exchange. */
export class App extends Disposable {
	readonly #model: PlaygroundModel;
	readonly #live = this.register(new LiveRegion());
	readonly #policies: PolicyBar;
	readonly #form: QuestionForm;
	readonly #history: HistoryList;
	readonly #exchange: ExchangeView;
	readonly #empty = element('div', { class: 'nothing' });
	#emptyOf = '';
	#wasRunning = false;

	constructor(root: HTMLElement, model: PlaygroundModel) {
		super();
		this.#model = model;
		const say = (text: string) => this.#live.announce(text);
		const actions: SampleActions = {
			running: () => model.running,
			branch: (place, token, text) => {
				model.host.post({ type: 'branch', ...place, token, text });
				say('Continuing from a different token.');
			},
			copy: (place, as) => this.#announceResult(model.host.request('copy', { ...place, as }), 'Copied.'),
			save: (place) =>
				this.#announceResult(
					model.host.request('saveCase', place).then(({ saved }) => (saved ? undefined : Promise.reject(canceled))),
					'Saved as a case.',
				),
		};
		this.#policies = new PolicyBar(model);
		this.#form = new QuestionForm(model, say);
		this.#history = this.register(new HistoryList(model));
		this.#exchange = this.register(new ExchangeView(model, actions));
		fill(
			root,
			element('h1', { class: 'visually-hidden' }, 'Playground'),
			element(
				'div',
				{ class: 'page' },
				element('div', { class: 'asking' }, this.#policies.element, this.#form.element),
				element('div', { class: 'answers' }, this.#history.element, this.#exchange.element, this.#empty),
			),
			this.#live.element,
		);
		document.addEventListener('keydown', (event) => {
			if (event.key !== 'Escape' || event.defaultPrevented || !model.running) return;
			model.host.post({ type: 'stop' });
		});
		this.register(model.onChange((change) => this.#changed(change)));
		this.#changed('policies');
		this.#changed('exchange');
	}

	#changed(change: Change): void {
		if (change === 'written') {
			this.#exchange.write();
			return;
		}
		this.#policies.draw();
		this.#form.draw();
		this.#history.draw();
		this.#exchange.draw();
		this.#drawEmpty();
		this.#announce();
	}

	#drawEmpty(): void {
		const model = this.#model;
		const asks = model.policies.some((policy) => policy !== null);
		const kind = model.forbidden !== null ? 'forbidden' : !model.ready ? 'wait' : asks ? 'ask' : 'none';
		this.#empty.hidden = model.shown !== undefined;
		if (kind === this.#emptyOf) return;
		this.#emptyOf = kind;
		switch (kind) {
			case 'wait':
				fill(this.#empty);
				break;
			case 'forbidden':
				fill(
					this.#empty,
					emptyState({
						title: 'Playground disabled',
						text: `${model.forbidden} Trust the workspace to use the playground.`,
						actions: [],
					}),
				);
				break;
			case 'none':
				fill(
					this.#empty,
					emptyState({
						title: 'No policy yet',
						text: 'A policy can be a checkpoint, a live run, a model on an OpenAI-compatible server, or a script that replays canned completions.',
						actions: [
							{ label: 'Select Policy…', run: () => model.host.post({ type: 'choosePolicy', side: 0 }) },
							{ label: 'Add a Server…', run: () => model.host.post({ type: 'addServer' }) },
						],
					}),
				);
				break;
			case 'ask':
				fill(
					this.#empty,
					emptyState({
						title: 'No questions yet',
						text: 'Type a question above. If you enter an expected answer, completions are scored with the run’s rewards.',
						actions: [{ label: 'Type a Question', run: () => this.#form.focus() }],
					}),
				);
				break;
		}
	}

	/** Announces the result of an exchange. */
	#announce(): void {
		const { shown } = this.#model;
		const running = shown !== undefined && isRunning(shown);
		if (this.#wasRunning && !running && shown !== undefined) {
			const words = shown.sides.map(({ name, state, samples, failure }) => {
				const right = samples.filter(({ check }) => check?.correct === true).length;
				const checked = samples.filter(({ check }) => check !== null && check.correct !== null).length;
				const verdict = checked === 0 ? '' : `, ${right} of ${checked} correct`;
				return `${plainLabel(name, 60)}: ${failure === null ? state : plainLabel(failure.message, 200)}${verdict}`;
			});
			this.#live.announce(words.join('. '));
		}
		this.#wasRunning = running;
	}

	#announceResult(work: Promise<unknown>, done: string): void {
		work.then(
			() => this.#live.announce(done),
			(error: unknown) => {
				const failure = Failure.from(error);
				if (failure.reason !== 'cancelled') this.#exchange.showFailure(failure);
			},
		);
	}
}

const canceled = new Failure('cancelled', 'Canceled.');
