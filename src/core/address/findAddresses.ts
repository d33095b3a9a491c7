import { addressOfLink } from './openLink.ts';

/** An address in a text: `rl://...`, or a link that opens one. */
export interface FoundAddress {
	readonly address: string;
	/** Offset of the address or link in the text, in UTF-16 code units. */
	readonly offset: number;
	readonly length: number;
}

/** Repetitions are bounded so that malicious text cannot make matching take quadratic time. */
const written =
	/\b(?:rl:\/\/|[a-z][a-z0-9+.-]{0,40}:\/\/reasoning-lab\.reasoning-lab\/open\?address=)[^\s<>"'`|\\^{}]{0,8000}/gi;

/** Finds the addresses in a text, and links that open one. */
export function* findAddresses(text: string): Generator<FoundAddress> {
	for (const { 0: match, index: offset } of text.matchAll(written)) {
		const found = trimmed(match);
		const address = found.startsWith('rl://') ? found : addressOfLink(found);
		if (address !== null) yield { address, offset, length: found.length };
	}
}

/** Replaces links with the addresses that they open, because links depend on the editor. */
export function withAddresses(text: string): string {
	let [plain, end] = ['', 0];
	for (const { address, offset, length } of findAddresses(text)) {
		plain += text.slice(end, offset) + address;
		end = offset + length;
	}
	return plain + text.slice(end);
}

/** Returns an address without the punctuation of the sentence or link around it. */
function trimmed(address: string): string {
	let end = address.length;
	const count = (character: string) => address.slice(0, end).split(character).length - 1;
	for (;;) {
		const last = address[end - 1] ?? '';
		if (/[.,;:!?*_~]/.test(last)) end--;
		else if ((last === ')' && count(')') > count('(')) || (last === ']' && count(']') > count('['))) end--;
		else return address.slice(0, end);
	}
}
