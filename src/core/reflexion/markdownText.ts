/*
 * Escapes text from models and files for Markdown so that it is displayed literally, without HTML, images, links, or
 * headings. The source remains readable.
 */

/** Characters that change text direction, are invisible, or control a terminal. */
const unseen = /[\p{Cc}\p{Bidi_Control}\u200b\u2028\u2029\ufeff]/gu;

const shown = (text: string): string =>
	text
		.replace(/\r\n?|\u2028|\u2029/g, '\n')
		.replace(/\t/g, '    ')
		.replace(unseen, (c) => (c === '\n' ? c : '\ufffd'));

/** Escapes inline markup in a single line. */
function inline(text: string): string {
	return (
		text
			.replace(/[\\`*_[\]<>|~&]/g, '\\$&')
			// Some viewers turn bare URLs into links.
			.replace(/(?<=\b(?:https?|ftp|file|mailto|data|javascript|vscode|command)):/gi, '\\:')
			.replace(/\bwww\./gi, 'www\\.')
			.replace(/\$/g, '\\$')
	);
}

/** Keeps paragraphs, but escapes line starts that would become headings, lists, quotes, or code. */
export function markdownParagraphs(text: string): string {
	return shown(text)
		.split('\n')
		.map((line) => {
			const words = inline(line.trim());
			return words
				.replace(/^(#{1,6}|[-+=]+)(?=\s|$|[-+=])/, '\\$1')
				.replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2')
				.replace(/^:/, '\\:');
		})
		.join('\n')
		.replace(/\n{3,}/g, '\n\n')
		.trim();
}

/** Formats text on a single line, for lists, headings, and tables. */
export function markdownLine(text: string, longest = 300): string {
	const line = shown(text).replace(/\s+/g, ' ').trim();
	const cut = line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
	return inline(cut).replace(/^([#+=-]|\d{1,9}(?=[.)]))/, (mark) => (/\d/.test(mark) ? mark : `\\${mark}`));
}

/** Wraps text in a fence that its content cannot close. */
export function markdownFence(text: string, longest = 4000): string {
	const cut = shown(text.length > longest ? `${text.slice(0, longest)}…` : text);
	const ticks = Math.max(2, ...(cut.match(/`+/g) ?? []).map((run) => run.length));
	const fence = '`'.repeat(ticks + 1);
	return `${fence}text\n${cut.replace(/\n+$/, '')}\n${fence}`;
}
