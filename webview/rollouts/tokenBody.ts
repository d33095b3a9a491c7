import type { IDisposable } from '../../src/base/disposable.ts';
import type { TokenColumns, TokenValue } from '../../src/protocol/rolloutsMessages.ts';
import { element, setText } from '../lib/dom.ts';
import { TokenText } from '../lib/tokens/tokenText.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { levelClass, tokenFacts, tokenLevel, tokenTable, valuesOf } from './tokenScale.ts';

/** Completion tokens colored by a value. A strip below shows the values for the hovered or focused token. */
export class TokenBody implements IDisposable {
	readonly element: HTMLElement;
	readonly #text: TokenText;

	/** @param onPick called when a token is clicked or Enter is pressed on it */
	constructor(
		label: string,
		tokens: TokenColumns,
		view: TokenValue,
		largestAdvantage = 1,
		onPick?: (token: number) => void,
	) {
		const table = tokenTable(tokens);
		const values = valuesOf(view, tokens) ?? [];
		const facts = element('div', { class: 'token-facts', role: 'status' }, 'Hover a token for details');
		this.#text = new TokenText({
			label,
			text: tokens.text,
			classOf: (i) => levelClass(view, tokenLevel(view, values[i], largestAdvantage)),
			onShow: (i) => setText(facts, `“${plainLabel(tokens.text[i] ?? '', 40)}” ${tokenFacts(table, i)}`),
			...(onPick === undefined ? {} : { onPick }),
		});
		this.element = element('div', { class: 'token-body' }, this.#text.element, facts);
	}

	dispose(): void {
		this.#text.dispose();
		this.element.remove();
	}
}
