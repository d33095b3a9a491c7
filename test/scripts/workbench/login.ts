/** A loopback page that logs a browser in to the workbench. Its URL contains a secret that replaces the password. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Server } from './server.ts';

export interface Login {
	readonly url: string;
	close(): void;
}

/** Serves the page until `close`. After login, it opens `folder`. */
export async function serveLogin(server: Server, folder: string): Promise<Login> {
	const path = `/${randomBytes(18).toString('base64url')}`;
	const after = `${server.origin}/login?${new URLSearchParams({ to: `/?folder=${encodeURIComponent(folder)}` })}`;
	const nonce = randomBytes(16).toString('base64url');
	const page = `<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Reasoning Lab</title>
<form method="post" action="${after.replaceAll('&', '&amp;')}">
<input type="hidden" name="password" value="${server.password}">
<button>Open the workbench</button>
</form>
<script nonce="${nonce}">document.forms[0].submit()</script>
</html>`;
	const http = createServer((request, response) => {
		if (request.url !== path) {
			response.writeHead(404).end();
			return;
		}
		response.writeHead(200, {
			'content-type': 'text/html',
			'cache-control': 'no-store',
			'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'`,
			'referrer-policy': 'no-referrer',
		});
		response.end(page);
	});
	await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
	http.unref();
	return {
		url: `http://127.0.0.1:${(http.address() as AddressInfo).port}${path}`,
		close: () => http.close(),
	};
}
