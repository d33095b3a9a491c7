import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { runProgram } from '../../processes/runProgram.ts';
import { decode } from '../../protocol/decode.ts';

/** Simple repository API of Python package indexes (PEP 503, PEP 691 and PEP 700). */

/** Wheel listed in an index. */
export interface OfferedWheel {
	readonly file: string;
	readonly version: string;
	readonly url: string;
	/** Hex digest; null if the index does not provide one. */
	readonly sha256: string | null;
	/** Size in bytes; null if the index does not provide it. */
	readonly bytes: number | null;
}

/** Package index and its credentials, which are sent only to its own origin. */
export interface PackageIndexAccess {
	/** URL without user name or password. */
	readonly url: string;
	/** Value of the Authorization header; null if not required. */
	readonly authorization: string | null;
}

/** Splits an index URL into the address and any credentials in it. Fails with `invalid` if it is not http or https. */
export function indexAccess(text: string): PackageIndexAccess {
	const url = URL.canParse(text) ? new URL(text) : null;
	if (url === null || !/^https?:$/.test(url.protocol)) {
		throw new Failure('invalid', 'The package index is not an http:// or https:// address.', 'Check --index-url.');
	}
	const { username, password } = url;
	url.username = '';
	url.password = '';
	if (username === '' && password === '') return { url: url.href, authorization: null };
	const key = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
	return { url: url.href, authorization: `Basic ${Buffer.from(key).toString('base64')}` };
}

/** Prints pip's index, from its configuration and environment or its default. */
const askPip = `
import subprocess, sys
try:
    named = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True).stdout
    found = {line.split("=", 1)[0]: line.split("=", 1)[1].strip("'\\"") for line in named.splitlines() if "=" in line}
    keys = (":env:.index-url", "install.index-url", "global.index-url")
    url = next((found[key] for key in keys if key in found), None)
    if url is None:
        from pip._internal.models.index import PyPI
        url = PyPI.simple_url
    print(url)
except ImportError:
    sys.exit(3)
`;

/** Returns the package index that an interpreter's pip uses. Fails with `missing` if the interpreter has no pip. */
export async function indexOfPip(python: string, signal?: AbortSignal): Promise<string> {
	const options = { limitMs: 60_000, ...(signal === undefined ? {} : { signal }) };
	const { code, stdout } = await runProgram(python, ['-c', askPip], options);
	const url = stdout.trim();
	if (code === 0 && /^https?:\/\//.test(url)) return url;
	throw new Failure(
		'missing',
		`Cannot determine the package index: ${python} has no pip.`,
		'Specify an index with --index-url.',
	);
}

const fileSchema = v.looseObject({
	filename: v.string(),
	url: v.string(),
	hashes: v.optional(v.record(v.string(), v.string()), {}),
	size: v.optional(v.number()),
	yanked: v.optional(v.union([v.boolean(), v.string()]), false),
});
const projectSchema = v.looseObject({ files: v.array(fileSchema) });

const jsonType = 'application/vnd.pypi.simple.v1+json';
const largestPage = 64 << 20;

/** Returns a package's wheels in index order. */
export async function offeredWheels(
	index: PackageIndexAccess,
	name: string,
	signal?: AbortSignal,
): Promise<OfferedWheel[]> {
	const page = `${index.url.replace(/\/+$/, '')}/${name}/`;
	const accept = `${jsonType}, text/html;q=0.5`;
	const response = await request(
		page,
		{ headers: { accept }, ...(signal === undefined ? {} : { signal }) },
		name,
		index,
	);
	const text = await response.text();
	if (text.length > largestPage) throw new Failure('unsupported', `The index page for ${name} is too large.`);
	const isJson = (response.headers.get('content-type') ?? '').startsWith(jsonType);
	const files = isJson ? filesOfJson(text, name) : filesOfHtml(text);
	return files.flatMap(({ filename, url, hashes, size, yanked }) => {
		const version = /^[\w.]+-([\w.!+]+)-[^/]*\.whl$/.exec(filename)?.[1];
		if (version === undefined || (yanked !== false && yanked !== undefined)) return [];
		const resolved = new URL(url, response.url || page);
		const fragment = /^#sha256=([0-9a-f]{64})$/.exec(resolved.hash)?.[1];
		resolved.hash = '';
		const stated = hashes?.sha256 ?? fragment ?? '';
		// Validate the hash, because it becomes a file name.
		const sha256 = /^[0-9a-f]{64}$/.test(stated) ? stated : null;
		return [{ file: filename, version, url: resolved.href, sha256, bytes: size ?? null }];
	});
}

type IndexFile = v.InferOutput<typeof fileSchema>;

function filesOfJson(text: string, name: string): IndexFile[] {
	let content: unknown;
	try {
		content = JSON.parse(text);
	} catch {
		content = null;
	}
	const decoded = decode(projectSchema, content);
	if (!decoded.ok) throw new Failure('invalid', `The package index returned an invalid page for ${name}.`);
	return decoded.value.files;
}

function filesOfHtml(text: string): IndexFile[] {
	return [...text.matchAll(/<a\s([^>]*)>\s*([^<\s]+)\s*<\/a>/gi)].flatMap(([, attributes = '', filename = '']) => {
		const url = /\bhref\s*=\s*"([^"]*)"/i.exec(attributes)?.[1]?.replaceAll('&amp;', '&');
		if (url === undefined) return [];
		return [{ filename, url, hashes: {}, size: undefined, yanked: /\bdata-yanked\b/i.test(attributes) }];
	});
}

/**
 * Sends a request, with the index's authorization if the address has the same origin. Converts network errors and
 * status codes to messages that mention the package.
 */
export async function request(
	url: string,
	init: RequestInit,
	name: string,
	index: PackageIndexAccess,
): Promise<Response> {
	const own = index.authorization !== null && new URL(url).origin === new URL(index.url).origin;
	const headers = new Headers(init.headers);
	if (own) headers.set('authorization', index.authorization as string);
	let response: Response;
	try {
		response = await fetch(url, { ...init, headers });
	} catch (cause) {
		if (init.signal?.aborted) throw new Failure('cancelled', 'Canceled.');
		const error = cause as { readonly message?: string; readonly cause?: { readonly message?: string } };
		const reason = error.cause?.message ?? error.message ?? String(cause);
		throw new Failure(
			'unavailable',
			`Cannot reach ${new URL(url).host} for ${name}: ${reason}.`,
			'Check the network and the proxy (set NODE_USE_ENV_PROXY=1 to use HTTPS_PROXY), or specify a mirror with --index-url.',
			{ cause },
		);
	}
	if (response.ok) return response;
	await response.body?.cancel().catch(() => undefined);
	const host = new URL(url).host;
	if (response.status === 404) throw new Failure('missing', `${host} does not have ${name}.`);
	if (response.status === 401 || response.status === 403) {
		throw new Failure('denied', `${host} requires a user name and password for ${name}.`);
	}
	throw new Failure('unavailable', `${host} responded with status ${response.status} for ${name}.`, 'Try again later.');
}
