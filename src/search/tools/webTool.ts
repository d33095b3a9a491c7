import { Failure } from '../../base/failure.ts';
import type { AgentTool, ToolSource } from '../../core/reflexion/agentTool.ts';
import type { ToolSpecOf } from '../../protocol/searchSpec.ts';
import { JsonServer } from '../../rewards/builtIn/jsonServer.ts';

const maxResults = 6;
const longestText = 2000;
const longestQuery = 1000;

/**
 * Placeholder for the query in a URL. If it is present, the tool sends GET requests; otherwise, it sends POST requests.
 */
const place = '{query}';

/**
 * Tool that queries the search server the user specified, and no other: redirects are not followed, the server's key is
 * sent only to the server's own origin, and nothing in the results is fetched. The protocol is described in
 * docs/reflexion.md. Fails with `invalid` for an invalid URL.
 * @param keys API keys by origin; the one for this server is sent as a bearer token
 */
export function webTool(
	name: string,
	spec: ToolSpecOf<'web'>,
	keys: Readonly<Record<string, string>>,
	signal: AbortSignal,
): AgentTool {
	const { origin } = addressOf(spec.url.replace(place, ''));
	const server = new JsonServer({
		concurrency: 4,
		timeoutSeconds: spec.timeoutSeconds,
		// The agent has its own retry budget.
		retries: 0,
		keys,
	});
	return {
		name,
		description: 'searches the web: write a few words, as in a search engine.',
		searches: true,
		async run(query) {
			const words = query.trim().slice(0, longestQuery);
			if (words === '') throw new Failure('invalid', 'The search query is empty.');
			const reply = spec.url.includes(place)
				? await server.get(spec.url.replace(place, encodeURIComponent(words)), signal)
				: await server.post(spec.url, { query: words, max_results: maxResults }, signal);
			const found = resultsIn(reply);
			if (found === null) {
				throw new Failure('invalid', `The response from ${origin} contains no list of results with url and content.`);
			}
			return {
				sources: found.slice(0, maxResults),
				...(found.length === 0 ? { note: 'No results found.' } : {}),
			};
		},
	};
}

function addressOf(text: string): URL {
	let url: URL | null = null;
	try {
		url = new URL(text);
	} catch {
		// Reported below.
	}
	if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
		throw new Failure(
			'invalid',
			`"${text.slice(0, 200)}" is not a search server URL.`,
			'Use the form https://HOST/search.',
		);
	}
	if (url.username !== '' || url.password !== '') {
		throw new Failure('invalid', 'The search server URL contains a password.', 'Set an API key instead.');
	}
	return url;
}

/**
 * Finds the results in `results` or in the reply itself: objects with an address and text under one of the usual names.
 * Returns null if there is no list.
 */
function resultsIn(reply: unknown): ToolSource[] | null {
	const list = Array.isArray(reply) ? reply : listIn(reply, 'results', 'organic', 'items', 'data');
	if (list === null) return null;
	return list.flatMap((item): ToolSource[] => {
		const source = textOf(item, 'url', 'link', 'href');
		const title = textOf(item, 'title', 'name');
		const text = textOf(item, 'content', 'text', 'snippet', 'description', 'summary') ?? title;
		if (source === null || text === null || !/^https?:\/\//i.test(source)) return [];
		return [{ source: source.slice(0, 500), title: title?.slice(0, 200) ?? null, text: text.slice(0, longestText) }];
	});
}

function listIn(value: unknown, ...names: string[]): unknown[] | null {
	for (const name of names) {
		const list = field(value, name);
		if (Array.isArray(list)) return list;
	}
	return null;
}

function textOf(value: unknown, ...names: string[]): string | null {
	for (const name of names) {
		const text = field(value, name);
		if (typeof text === 'string' && text.trim() !== '') return text.trim();
	}
	return null;
}

function field(value: unknown, name: string): unknown {
	return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
		? (value as Record<string, unknown>)[name]
		: undefined;
}
