import type { TokenValue } from '../../src/protocol/rolloutsMessages.ts';
import { element } from '../lib/dom.ts';
import { levelClass, tokenScale } from './tokenScale.ts';

const explanations: Readonly<Record<TokenValue, string>> = {
	logprob: 'Log-probability at the sampling temperature (darker means less likely)',
	entropy: 'Entropy of the distribution that the token was sampled from',
	ratio: 'Importance ratio: trainer probability divided by sampler probability (1 if equal)',
	kl: 'k3 estimate of KL(policy || reference) at the token',
	advantage: 'Token advantage',
};

/** Builds the color legend for the tokens. */
export function tokenLegend(view: TokenValue, largestAdvantage: number): HTMLElement {
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
	);
}
