import { visibleLine, visibleText } from './visibleText.ts';

/**
 * A text in one line that Markdown takes for nothing but text: no emphasis, link, picture, HTML, table cell, formula or
 * reference. Entities stand where a backslash would not hold for every reader (CommonMark 0.31, sections 2.4 and 2.5).
 */
export function markdownText(text: string): string {
	const line = visibleLine(text).trim().replace(/ {2,}/g, ' ');
	return (
		line
			.replace(/&/g, '&amp;')
			.replace(/</g, '&lt;')
			.replace(/>/g, '&gt;')
			.replace(/[\\`*_[\]|~#$!{}]/g, '\\$&')
			.replace(/:\/\//g, '&#58;//')
			.replace(/\bwww\./gi, (found) => found.replace('.', '&#46;'))
			// A mention or an address; pass@k is none.
			.replace(/(?<![\w])@|@(?=[\w-]+\.)/g, '&#64;')
			.replace(/^([-+=])(?=\s|$|[-=])/, '\\$1')
			.replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2')
	);
}

/** A text word for word, in a fence that none of its lines can end. */
export function markdownFence(text: string): string {
	const content = visibleText(text);
	const longest = (content.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0);
	const fence = '`'.repeat(Math.max(3, longest + 1));
	return `${fence}text\n${content}${content.endsWith('\n') ? '' : '\n'}${fence}`;
}
