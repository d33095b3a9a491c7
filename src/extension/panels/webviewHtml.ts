import { randomBytes } from 'node:crypto';

export interface WebviewResources {
	/** Value of `webview.cspSource`: the origin of the page's own files. */
	readonly cspSource: string;
	readonly script: string;
	readonly style: string;
}

/** Returns a nonce with 128 random bits for a single page. */
export function makeNonce(): string {
	return randomBytes(16).toString('base64url');
}

/**
 * Returns the content security policy of a page. It allows only the script with the nonce, style sheets from the
 * extension, images created by the page, and the style element with its own nonce. Network access, frames, forms, and
 * any other inline code or style are blocked.
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

/** Returns an app's HTML page. It contains no data; all data is sent as messages. */
export function appHtml(resources: WebviewResources, title: string, nonce = makeNonce()): string {
	// The UI library tests :focus-visible with a style element and reads its nonce from this meta tag. It differs from
	// the script nonce so that the script nonce is not exposed anywhere in the page.
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

/** Returns a page without scripts, for a panel whose run cannot be shown. */
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
