import { type AnyStrategy, episodeStrategies, strategies, strategyParams } from '../../src/core/search/strategies.ts';
import { needsOf } from '../../src/core/search/strategy.ts';
import { element, uniqueId } from '../lib/dom.ts';
import type { NewSearchModel } from './newSearchModel.ts';

const agent = 'reflexion';

/** Strategies with a one-sentence description; those for instruction-following models come last. */
export class StrategyList {
	readonly element: HTMLElement;
	readonly #model: NewSearchModel;
	readonly #inputs = new Map<string, HTMLInputElement>();
	readonly #head = element('p', { class: 'quiet strategies-head' }, 'For instruction-following models');

	constructor(model: NewSearchModel) {
		this.#model = model;
		const name = uniqueId('strategy');
		const follows = (strategy: AnyStrategy) =>
			(needsOf(strategy, strategyParams(strategy, {})).policy ?? []).includes('instructions');
		const list = (shown: readonly AnyStrategy[]) => shown.map((strategy) => this.#row(strategy, name));
		this.element = element(
			'fieldset',
			{ class: 'strategies' },
			element('legend', null, 'Strategy'),
			...list(strategies.filter((strategy) => !follows(strategy))),
			this.#head,
			...list(strategies.filter(follows)),
		);
	}

	draw(): void {
		const { name } = this.#model.strategy;
		const played = this.#model.environment !== null;
		this.#head.hidden = played;
		for (const [strategy, input] of this.#inputs) {
			input.checked = strategy === name;
			// The agent has a separate command, which asks for the tools.
			const fits = played ? episodeStrategies.includes(strategy) : strategy !== agent || name === agent;
			if (input.parentElement !== null) input.parentElement.hidden = !fits;
		}
	}

	#row({ name, title, description, source }: AnyStrategy, group: string): HTMLElement {
		const input = element('input', {
			attributes: { type: 'radio', name: group, value: name },
			on: { change: () => this.#model.setStrategy(name) },
		});
		this.#inputs.set(name, input);
		return element(
			'label',
			{ class: 'strategy', title: source },
			input,
			element('span', null, element('strong', null, title), ' ', element('span', { class: 'quiet' }, description)),
		);
	}
}
