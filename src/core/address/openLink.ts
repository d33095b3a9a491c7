/** Link that opens an `rl://` address in an editor: `SCHEME://reasoning-lab.reasoning-lab/open?address=ENCODED`. */
const opened = /^[a-z][a-z0-9+.-]*:\/\/reasoning-lab\.reasoning-lab\/open\?(?:[^#]*&)?address=([^&]*)/i;

/** Returns whether text is a valid URI scheme of an editor, such as `vscode`, `vscode-insiders`, or `code-oss`. */
export const isScheme = (text: string): boolean => /^[a-z][a-z0-9+.-]{0,40}$/.test(text);

/**
 * Returns the link that opens an address in the editor with the given URI scheme. Chats and Markdown previews open such
 * links, but not `rl://`. The link contains no characters that would end a Markdown link.
 */
export function openLink(scheme: string, address: string): string {
	const encoded = encodeURIComponent(address.toWellFormed()).replace(
		/[!'()*]/g,
		(one) => `%${one.charCodeAt(0).toString(16)}`,
	);
	return `${scheme}://reasoning-lab.reasoning-lab/open?address=${encoded}`;
}

/** Returns the address that a link opens, or null for any other text. */
export function addressOfLink(link: string): string | null {
	const [, encoded] = opened.exec(link.trim()) ?? [];
	return encoded === undefined ? null : decodedAddress(encoded);
}

/**
 * Returns the address in a query parameter. Editors decode the query of a URI before they pass it on. Decoding it a second
 * time would also decode the names in the address, so a parameter that already starts like an address is not decoded.
 */
export function decodedAddress(parameter: string): string {
	if (parameter.startsWith('rl://')) return parameter;
	try {
		return decodeURIComponent(parameter);
	} catch {
		return parameter;
	}
}
