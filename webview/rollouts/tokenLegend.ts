import type { TokenValue } from '../../src/protocol/rolloutsMessages.ts';
import { element } from '../lib/dom.ts';
import { levelClass, observedClass, tokenScale } from './tokenScale.ts';

const explanations: Readonly<Record<TokenValue, string>> = {
	logprob: 'Log-probability at the sampling temperature (darker means less likely)',
	entropy: 'Entropy of the distribution that the token was sampled from',
	ratio: 'Importance ratio: trainer probability divided by sampler probability (1 if equal)',
	kl: 'k3 estimate of KL(policy || reference) at the token',
	advantage: 'Token advantage',
	weights:
		'Age of the weights that generated the token (darker means older), relative to the weights that the step trained or, if those are not recorded, to the newest weights in the completion',
};

/**
 * Builds the color legend for the tokens.
 * @param observed whether some tokens came from an environment
 */
export function tokenLegend(view: TokenValue, largestAdvantage: number, observed = false): HTMLElement {
	const { levels, low, middle, high } = tokenScale(view, largestAdvantage);
	const swatch = (level: number) =>
		element('span', { class: `swatch ${levelClass(view, level)}`, aria: { hidden: true } });
	return element(
		'span',
		{ class: 'legend-item', title: explanations[view] },
		`${low} `,
		...levels.filter((level) => level < 0).map(swatch),
		middle !== null && element('span', { class: 'quiet' }, ` ${middle} `),
		...levels.filter((level) => level >= 0).map(swatch),
		` ${high}`,
		observed &&
			element(
				'span',
				{ class: 'legend-observed', title: 'Tokens from the environment are not trained on' },
				element('span', { class: `swatch ${observedClass}`, aria: { hidden: true } }),
				' from the environment',
			),
	);
}
