import { formatPercent } from '../../../src/base/format.ts';
import type { TokenDetail } from '../../../src/core/search/policy.ts';
import { element, unseen } from '../dom.ts';
import { plainLabel } from '../trace/hiddenCharacters.ts';

export interface Alternative {
	readonly text: string;
	readonly probability: number;
	/** Whether this is the sampled token. */
	readonly taken: boolean;
}

/**
 * Returns the alternatives at a position, most probable first, including the sampled token if its probability is known.
 */
export function alternativesAt(detail: TokenDetail, token: number): Alternative[] {
	const text = detail.text[token] ?? '';
	const list = (detail.top?.[token] ?? [])
		.map(([word, logprob]) => ({ text: word, probability: Math.exp(logprob), taken: word === text }))
		.filter(({ probability }) => probability >= 0 && probability <= 1.000001);
	const own = detail.logprob[token] ?? null;
	if (own !== null && !list.some(({ taken }) => taken)) list.push({ text, probability: Math.exp(own), taken: true });
	return list.sort((a, b) => b.probability - a.probability);
}

/** Formats a token with visible whitespace: "·no", "↵". */
export function tokenLabel(text: string): string {
	if (text === '') return '∅';
	return plainLabel(text.replace(/\n/g, '↵').replace(/\t/g, '⇥').replace(/ /g, '·'), 60);
}

/**
 * Renders alternatives as bars with their probabilities.
 * @param force called to force a token; if omitted, the list is read-only
 */
export function alternativeList(alternatives: readonly Alternative[], force?: (text: string) => void): HTMLElement {
	const rows = alternatives.map(({ text, probability, taken }) => {
		const bar = element('span', { class: 'alternative-bar', aria: { hidden: true } });
		bar.style.width = `${Math.min(100, probability * 100).toFixed(1)}%`;
		const percent = formatPercent(probability);
		const inside = [
			bar,
			element('span', { class: 'alternative-text' }, tokenLabel(text)),
			element(
				'span',
				{ class: 'alternative-share' },
				taken && element('span', { class: 'quiet' }, 'sampled '),
				percent,
			),
		];
		if (force === undefined || taken || text === '') {
			return element('li', null, element('div', { class: `alternative${taken ? ' taken' : ''}` }, ...inside));
		}
		return element(
			'li',
			null,
			element(
				'button',
				{
					class: 'alternative',
					title: 'Force this token and continue from it',
					attributes: { type: 'button' },
					on: { click: () => force(text) },
				},
				unseen('Force '),
				...inside,
			),
		);
	});
	return element('ul', { class: 'alternatives' }, ...rows);
}
