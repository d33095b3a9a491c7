import type { IDisposable } from '../../src/base/disposable.ts';
import type { TokenColumns, TokenValue } from '../../src/protocol/rolloutsMessages.ts';
import { element, setText } from '../lib/dom.ts';
import { TokenText } from '../lib/tokens/tokenText.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import {
	levelClass,
	observedClass,
	observedTokens,
	tokenFacts,
	tokenLevel,
	tokenTable,
	valuesOf,
} from './tokenScale.ts';

export interface TokenBodyOptions {
	/** Maximum absolute advantage in the group. Default 1. */
	readonly largestAdvantage?: number;
	/** First and last token to highlight. */
	readonly cited?: readonly [number, number];
	/** Called when a token is clicked or Enter is pressed on it. */
	readonly onPick?: (token: number) => void;
}

/** Completion tokens colored by a value. A strip below shows the values for the hovered or focused token. */
export class TokenBody implements IDisposable {
	readonly element: HTMLElement;
	readonly #text: TokenText;

	constructor(label: string, tokens: TokenColumns, view: TokenValue, options: TokenBodyOptions = {}) {
		const { largestAdvantage = 1, cited, onPick } = options;
		const table = tokenTable(tokens);
		const values = valuesOf(view, tokens) ?? [];
		const isObserved = observedTokens(tokens);
		const facts = element('div', { class: 'token-facts', role: 'status' }, 'Hover a token for details');
		this.#text = new TokenText({
			label,
			text: tokens.text,
			classOf: (i) => {
				const level = isObserved(i) ? observedClass : levelClass(view, tokenLevel(view, values[i], largestAdvantage));
				return cited !== undefined && i >= cited[0] && i <= cited[1] ? `${level} cited` : level;
			},
			...(cited === undefined ? {} : { start: cited[0] }),
			onShow: (i) => setText(facts, `“${plainLabel(tokens.text[i] ?? '', 40)}” ${tokenFacts(table, i)}`),
			...(onPick === undefined ? {} : { onPick }),
		});
		this.element = element('div', { class: 'token-body' }, this.#text.element, facts);
	}

	/** Scrolls to a token and shows its values. */
	reveal(token: number): void {
		this.#text.move(token);
	}

	dispose(): void {
		this.#text.dispose();
		this.element.remove();
	}
}
