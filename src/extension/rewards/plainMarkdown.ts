/**
 * Text as Markdown that shows it and nothing else: no link (also not of a bare address), image, icon, HTML or list can come
 * of it, whoever wrote it. Unlike `MarkdownString.appendText` it lets lines wrap.
 */
export function plainMarkdown(text: string): string {
	return text.replace(/[^\p{L}\p{N} ,±·…]/gu, (c) => (c === '\n' ? ' ' : `&#${c.codePointAt(0)};`));
}
