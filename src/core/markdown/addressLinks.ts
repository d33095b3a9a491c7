import { findAddresses } from '../address/findAddresses.ts';

/** The part of a markdown-it token that the plugin uses. */
interface Token {
	type: string;
	content: string;
	children: Token[] | null;
	attrGet(name: string): string | number | null;
	attrSet(name: string, value: string): void;
}

interface State {
	tokens: Token[];
	readonly Token: new (type: string, tag: string, nesting: -1 | 0 | 1) => Token;
}

/** The part of markdown-it that the plugin uses. */
export interface MarkdownParser {
	readonly core: {
		readonly ruler: { after(rule: string, name: string, run: (state: State) => void): void };
	};
}

/**
 * markdown-it plugin that turns `rl://` addresses into links: in links, images (with their alt text), plain text, and
 * code that consists only of an address.
 * @param linkOf returns the target of the link to an address
 */
export function addAddressLinks(parser: MarkdownParser, linkOf: (address: string) => string): void {
	// Runs before typographic replacements, which can change an address.
	parser.core.ruler.after('linkify', 'reasoning-lab-addresses', (state) => {
		const linker = new Linker(state, linkOf);
		for (const token of state.tokens) if (token.children !== null) token.children = linker.linked(token.children);
	});
}

class Linker {
	readonly #state: State;
	readonly #linkOf: (address: string) => string;

	constructor(state: State, linkOf: (address: string) => string) {
		this.#state = state;
		this.#linkOf = linkOf;
	}

	linked(tokens: readonly Token[]): Token[] {
		let depth = 0;
		return tokens.flatMap((token) => {
			if (token.type === 'link_close') depth--;
			if (token.type === 'link_open') {
				depth++;
				const address = addressIn(token, 'href');
				if (address !== null) this.#point(token, address);
			}
			return depth > 0 && token.type !== 'image' ? [token] : this.#parts(token, depth > 0);
		});
	}

	#parts(token: Token, inLink: boolean): Token[] {
		switch (token.type) {
			case 'image': {
				const address = addressIn(token, 'src');
				if (address === null) return [token];
				const text = this.#text(token.content || address);
				return inLink ? [text] : this.#link(address, text);
			}
			case 'code_inline': {
				const [found] = findAddresses(token.content);
				return found?.address === token.content ? this.#link(found.address, token) : [token];
			}
			case 'text':
				return this.#split(token);
			default:
				return [token];
		}
	}

	#split(token: Token): Token[] {
		const parts: Token[] = [];
		let end = 0;
		for (const { address, offset, length } of findAddresses(token.content)) {
			if (offset > end) parts.push(this.#text(token.content.slice(end, offset)));
			end = offset + length;
			parts.push(...this.#link(address, this.#text(token.content.slice(offset, end))));
		}
		if (parts.length === 0) return [token];
		if (end < token.content.length) parts.push(this.#text(token.content.slice(end)));
		return parts;
	}

	#text(content: string): Token {
		const token = new this.#state.Token('text', '', 0);
		token.content = content;
		return token;
	}

	#link(address: string, content: Token): Token[] {
		const open = new this.#state.Token('link_open', 'a', 1);
		this.#point(open, address);
		return [open, content, new this.#state.Token('link_close', 'a', -1)];
	}

	#point(link: Token, address: string): void {
		link.attrSet('href', this.#linkOf(address));
		if (link.attrGet('title') === null) link.attrSet('title', address);
	}
}

function addressIn(token: Token, attribute: string): string | null {
	const target = token.attrGet(attribute);
	return typeof target === 'string' && target.startsWith('rl://') ? target : null;
}
