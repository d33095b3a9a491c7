import { parseBoundedJson } from '../../base/boundedJson.ts';
import { field, isTable, textField } from './pythonValue.ts';
import type { Transcript } from './transcript.ts';

/** Page or document returned by a tool. */
export interface Source {
	/** URL as first written. */
	readonly url: string;
	readonly title: string | null;
	/** Concatenated text from the results. */
	readonly text: string;
	/** Messages whose results contain the source, in ascending order. */
	readonly messages: readonly number[];
}

const urlFields = ['url', 'link', 'href', 'uri', 'source'] as const;
const textFields = [
	'content',
	'text',
	'snippet',
	'body',
	'summary',
	'raw_content',
	'page_content',
	'description',
] as const;
const limits = { sources: 2000, text: 200_000, depth: 12 } as const;

/** Normalizes a URL for comparison by removing the scheme, "www.", fragment, tracking parameters and trailing slash. */
export function normalUrl(url: string): string {
	return url
		.trim()
		.replace(/^https?:\/\/(?:www\.)?/i, '')
		.replace(/#.*$/s, '')
		.replace(/[?&]utm_[^&]*/g, '')
		.replace(/[/.,;]+$/, '')
		.replace(/^[^/]+/, (host) => host.toLowerCase());
}

/**
 * Returns the sources in tool results by normalized URL: objects with a URL and text in JSON results, and URLs with the
 * surrounding lines in text results.
 * @param before searches only messages before this one
 */
export function sourcesOf({ messages }: Transcript, before = Number.POSITIVE_INFINITY): Map<string, Source> {
	const found = new Map<string, { url: string; title: string | null; texts: Set<string>; messages: number[] }>();
	const add = (message: number, url: string, title: string | null, text: string): void => {
		const key = normalUrl(url);
		if (key === '' || (found.size >= limits.sources && !found.has(key))) return;
		const source = found.get(key) ?? { url, title, texts: new Set<string>(), messages: [] };
		source.title ??= title;
		if (text !== '') source.texts.add(text.slice(0, limits.text));
		if (source.messages.at(-1) !== message) source.messages.push(message);
		found.set(key, source);
	};
	for (const { index, role, text } of messages) {
		if (index >= before || role !== 'tool') continue;
		const json = parse(text);
		if (json !== undefined) gather(json, index, add, 0);
		else gatherLines(text, index, add);
	}
	return new Map(
		[...found].map(([key, { url, title, texts, messages: at }]) => [
			key,
			{ url, title, text: [...texts].join('\n'), messages: at },
		]),
	);
}

type Add = (message: number, url: string, title: string | null, text: string) => void;

function parse(text: string): unknown {
	if (!/^\s*[[{]/.test(text)) return undefined;
	try {
		return parseBoundedJson(text);
	} catch {
		return undefined;
	}
}

function gather(value: unknown, message: number, add: Add, depth: number): void {
	if (depth > limits.depth) return;
	if (Array.isArray(value)) {
		for (const item of value) gather(item, message, add, depth + 1);
		return;
	}
	if (!isTable(value)) return;
	const url = firstText(value, urlFields) ?? firstText(field(value, 'metadata'), urlFields);
	if (url !== null && /^(?:https?:\/\/|[\w-]+(?:\.[\w-]+)+\/)/i.test(url)) {
		const texts = textFields.map((name) => textField(value, name)).filter((text) => text !== null);
		const title = textField(value, 'title') ?? textField(value, 'name');
		add(message, url, title, [title ?? '', ...texts].filter((text) => text !== '').join('\n'));
	}
	for (const inner of Object.values(value)) if (typeof inner === 'object') gather(inner, message, add, depth + 1);
}

function firstText(value: unknown, names: readonly string[]): string | null {
	for (const name of names) {
		const text = textField(value, name);
		if (text !== null && text !== '') return text;
	}
	return null;
}

/** Reads sources from plain text: each URL with the text up to the next URL. */
function gatherLines(text: string, message: number, add: Add): void {
	const urls = [...text.slice(0, 1_000_000).matchAll(/https?:\/\/[^\s<>"'\])]{4,2000}/g)].slice(0, limits.sources);
	urls.forEach((match, i) => {
		const end = urls[i + 1]?.index ?? text.length;
		const line = text.lastIndexOf('\n', match.index);
		const start = Math.max(line + 1, i === 0 ? 0 : (urls[i - 1]?.index ?? 0) + (urls[i - 1]?.[0].length ?? 0));
		add(message, match[0].replace(/[.,;]+$/, ''), null, text.slice(start, end).trim());
	});
}
