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
 * itself. No network, no frames, no forms, no inline code or style.
 */
export function contentSecurityPolicy(cspSource: string, nonce: string): string {
	return [
		"default-src 'none'",
		`script-src 'nonce-${nonce}'`,
		`style-src ${cspSource}`,
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

/** The page of an app: it holds no data; everything comes by messages. */
export function appHtml(resources: WebviewResources, title: string, nonce = makeNonce()): string {
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeHtml(contentSecurityPolicy(resources.cspSource, nonce))}">
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
