import { randomBytes } from 'node:crypto';

export interface WebviewResources {
	/** `webview.cspSource`: where the page's own files come from. */
	readonly cspSource: string;
	readonly script: string;
	readonly style: string;
}

/** 128 random bits for one page. */
export function makeNonce(): string {
	return randomBytes(16).toString('base64url');
}

/**
 * What a page may do: run the one script with the nonce, take style sheets of the extension, draw images that it made
 * itself, and the one style element with its own nonce. No network, no frames, no forms, no other inline code or style.
 */
export function contentSecurityPolicy(cspSource: string, nonce: string, styleNonce: string): string {
	return [
		"default-src 'none'",
		`script-src 'nonce-${nonce}'`,
		`style-src ${cspSource} 'nonce-${styleNonce}'`,
		`font-src ${cspSource}`,
		`img-src ${cspSource} blob:`,
		"base-uri 'none'",
		"form-action 'none'",
	].join('; ');
}

const escapes: Readonly<Record<string, string>> = {
	'&': '&amp;',
	'<': '&lt;',
	'>': '&gt;',
	'"': '&quot;',
	"'": '&#39;',
};

export function escapeHtml(text: string): string {
	return text.replace(/[&<>"']/g, (c) => escapes[c] ?? c);
}

/** The page of an app: it contains no data; everything comes by messages. */
export function appHtml(resources: WebviewResources, title: string, nonce = makeNonce()): string {
	// The controls' library probes for :focus-visible with a style element, and takes its nonce from this mark; it is
	// another than the script's, so that a script's nonce stands nowhere that can be read.
	const styleNonce = makeNonce();
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeHtml(contentSecurityPolicy(resources.cspSource, nonce, styleNonce))}">
<meta property="csp-nonce" content="${styleNonce}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${escapeHtml(resources.style)}">
<title>${escapeHtml(title)}</title>
</head>
<body>
<main id="app"></main>
<script type="module" nonce="${nonce}" src="${escapeHtml(resources.script)}"></script>
</body>
</html>`;
}

/** A page without script, for a panel whose run cannot be shown. */
export function messageHtml(title: string, message: string): string {
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<title>${escapeHtml(title)}</title>
</head>
<body>
<h2>${escapeHtml(title)}</h2>
<p>${escapeHtml(message)}</p>
</body>
</html>`;
}
