/** http or WebSocket, a host with an optional port, and an optional path; no credentials, query, or fragment. */
const address = /^(?:https?|wss?):\/\/(\[[0-9a-f:]+\]|[^\s/?#@:[\]\\]+)(?::\d{1,5})?(?:\/[^\s?#\\]*)?$/i;

/** Returns whether text is the address of an environment server. */
export function isServerAddress(text: string): boolean {
	return address.test(text);
}

/** Returns whether an address refers to this machine. */
export function isLoopbackAddress(text: string): boolean {
	const host = (address.exec(text)?.[1] ?? '').toLowerCase();
	return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
