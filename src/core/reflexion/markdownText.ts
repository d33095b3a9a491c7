/*
 * Texts of models and files as Markdown that shows them and nothing else: no HTML, no image, no link, no heading can come of
 * them. It stays readable as source.
 */

/** What turns a text's direction, hides in it, or drives a terminal. */
const unseen = /[\p{Cc}\p{Bidi_Control}\u200b\u2028\u2029\ufeff]/gu;

const shown = (text: string): string =>
	text
		.replace(/\r\n?|\u2028|\u2029/g, '\n')
		.replace(/\t/g, '    ')
		.replace(unseen, (c) => (c === '\n' ? c : '\ufffd'));

/** Of one line: everything that means something within a line. */
function inline(text: string): string {
	return (
		text
			.replace(/[\\`*_[\]<>|~&]/g, '\\$&')
			// Bare addresses become links in some viewers.
			.replace(/(?<=\b(?:https?|ftp|file|mailto|data|javascript|vscode|command)):/gi, '\\:')
			.replace(/\bwww\./gi, 'www\\.')
			.replace(/\$/g, '\\$')
	);
}

/** Paragraphs as they are; each line begins with nothing that would make it a heading, a list, a quote or code. */
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

/** On one line: in a list, a heading or a table. */
export function markdownLine(text: string, longest = 300): string {
	const line = shown(text).replace(/\s+/g, ' ').trim();
	const cut = line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
	return inline(cut).replace(/^([#+=-]|\d{1,9}(?=[.)]))/, (mark) => (/\d/.test(mark) ? mark : `\\${mark}`));
}

/** A fence that nothing inside of it can close. */
export function markdownFence(text: string, longest = 4000): string {
	const cut = shown(text.length > longest ? `${text.slice(0, longest)}…` : text);
	const ticks = Math.max(2, ...(cut.match(/`+/g) ?? []).map((run) => run.length));
	const fence = '`'.repeat(ticks + 1);
	return `${fence}text\n${cut.replace(/\n+$/, '')}\n${fence}`;
}
