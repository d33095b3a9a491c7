/**
 * Escapes untrusted text so that Markdown renders it literally, without links (including bare URLs), images, icons,
 * HTML, or lists. Unlike `MarkdownString.appendText`, it allows lines to wrap.
 */
export function plainMarkdown(text: string): string {
	return text.replace(/[^\p{L}\p{N} ,±·…]/gu, (c) => (c === '\n' ? ' ' : `&#${c.codePointAt(0)};`));
}
