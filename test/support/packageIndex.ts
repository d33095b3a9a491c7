import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { zipFile } from './zipFile.ts';

/** A wheel of a package index on loopback. */
export interface ServedWheel {
	readonly project: string;
	readonly file: string;
	/** Names and contents of the files in it. */
	readonly members: Readonly<Record<string, string>>;
}

export interface PackageIndexOptions {
	/** Form of the pages: JSON with sizes (PEP 691 and 700), or HTML with hashes only (PEP 503). */
	readonly form?: 'json' | 'html';
	/** Whether range requests are answered with the whole file. */
	readonly ignoreRanges?: boolean;
	/** Value of the authorization header that every request must have. */
	readonly authorization?: string;
	/** Hash that the pages list for every file. */
	readonly statedHash?: string;
}

/** A package index on loopback, with wheels created by a test. */
export class PackageIndex {
	readonly #server: Server;
	/** Paths that were requested, with ranges. */
	readonly requests: string[] = [];
	/** Cuts off the next download after this many bytes. */
	breakAfter: number | null = null;
	/** Replaces the content of a file, whose hash is then wrong. */
	readonly replaced = new Map<string, Buffer>();

	private constructor(server: Server) {
		this.#server = server;
	}

	static async start(
		wheels: readonly ServedWheel[],
		{ form = 'json', ignoreRanges = false, authorization, statedHash }: PackageIndexOptions = {},
	): Promise<PackageIndex> {
		const contents = new Map(
			wheels.map(({ file, members }) => [
				file,
				zipFile(Object.entries(members).map(([name, text]) => ({ name, text, method: 8 as const }))),
			]),
		);
		const server = createServer((request, response) => {
			const path = request.url ?? '';
			const { range, authorization: given } = request.headers;
			index.requests.push([request.method, path, range, given && 'with authorization'].filter(Boolean).join(' '));
			if (authorization !== undefined && request.headers.authorization !== authorization) {
				return response.writeHead(401).end();
			}
			const project = /^\/simple\/([^/]+)\/$/.exec(path)?.[1];
			if (project !== undefined) {
				const listed = wheels.filter((wheel) => wheel.project === project);
				if (listed.length === 0) return response.writeHead(404).end();
				const files = listed.map(({ file }) => {
					const content = contents.get(file) as Buffer;
					const sha256 = statedHash ?? createHash('sha256').update(content).digest('hex');
					return { filename: file, url: `/files/${file}`, hashes: { sha256 }, size: content.length };
				});
				if (form === 'json') {
					response.writeHead(200, { 'content-type': 'application/vnd.pypi.simple.v1+json' });
					return response.end(JSON.stringify({ files }));
				}
				const links = files.map(
					({ filename, url, hashes }) => `<a href="${url}#sha256=${hashes.sha256}">${filename}</a>`,
				);
				response.writeHead(200, { 'content-type': 'text/html' });
				return response.end(`<!DOCTYPE html><html><body>${links.join('<br>')}</body></html>`);
			}
			const file = path.slice('/files/'.length);
			const content = index.replaced.get(file) ?? contents.get(file);
			if (content === undefined) return response.writeHead(404).end();
			const from = ignoreRanges ? 0 : Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
			const part = content.subarray(from);
			response.writeHead(from > 0 ? 206 : 200, { 'content-length': part.length });
			if (request.method === 'HEAD') return response.end();
			const { breakAfter } = index;
			if (breakAfter === null || breakAfter >= part.length) return response.end(part);
			index.breakAfter = null;
			response.write(part.subarray(0, breakAfter), () => setTimeout(() => response.destroy(), 20));
		});
		const index = new PackageIndex(server);
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		return index;
	}

	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/simple`;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#server.closeAllConnections();
		await new Promise((resolve) => this.#server.close(resolve));
	}
}
