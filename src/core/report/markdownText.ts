import { visibleLine, visibleText } from './visibleText.ts';

/**
 * Escapes text for a single line of Markdown so that it is displayed literally: no emphasis, links, images, HTML, table
 * cells, formulas, or references. Uses entities where not every parser supports backslash escapes (CommonMark 0.31,
 * sections 2.4 and 2.5).
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
			// Mentions and email addresses, but not pass@k.
			.replace(/(?<![\w])@|@(?=[\w-]+\.)/g, '&#64;')
			.replace(/^([-+=])(?=\s|$|[-=])/, '\\$1')
			.replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2')
	);
}

/** Wraps verbatim text in a fence that none of its lines can close. */
export function markdownFence(text: string): string {
	const content = visibleText(text);
	const longest = (content.match(/`+/g) ?? []).reduce((max, run) => Math.max(max, run.length), 0);
	const fence = '`'.repeat(Math.max(3, longest + 1));
	return `${fence}text\n${content}${content.endsWith('\n') ? '' : '\n'}${fence}`;
}
