import { findCitations } from '../../src/core/address/citations.ts';
import type { Inline } from '../../src/core/markdown/parseInline.ts';
import { type Block, parseMarkdown } from '../../src/core/markdown/parseMarkdown.ts';
import { type Child, element } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

export interface MarkdownParts {
	/** Creates a link to run data. Called in text order. */
	readonly citation: (address: string, content: readonly Child[]) => HTMLElement;
	/** Creates a metric's chart. */
	readonly chart: (address: string, title: string) => HTMLElement;
	/** Called for an address in code, which does not become a link. */
	readonly skipped: (address: string) => void;
}

/** Renders Markdown with text nodes only. Links to run data become elements; other addresses are shown as text. */
export function markdownView(source: string, parts: MarkdownParts): HTMLElement[] {
	return parseMarkdown(source).map((block) => blockView(block, parts));
}

function blockView(block: Block, parts: MarkdownParts): HTMLElement {
	const inline = (content: readonly Inline[]) => inlineView(content, parts);
	switch (block.kind) {
		case 'heading':
			// The page already has a top-level heading.
			return element(`h${Math.min(6, block.level + 1)}`, null, ...inline(block.text));
		case 'paragraph': {
			const [only] = block.text;
			if (block.text.length === 1 && only?.kind === 'image' && only.target.startsWith('rl://')) {
				return parts.chart(only.target, plainLabel(only.text, 200));
			}
			return element('p', null, ...inline(block.text));
		}
		case 'quote':
			return element('blockquote', null, ...inline(block.text));
		case 'rule':
			return element('hr', null);
		case 'code':
			for (const { address } of findCitations(block.text)) parts.skipped(address);
			return element('pre', { tabIndex: 0 }, element('code', null, block.text));
		case 'list':
			return element(
				'ul',
				{ class: 'items', role: 'list' },
				...block.items.map(({ mark, depth, text }) => {
					const item = element(
						'li',
						{ class: `item depth-${Math.min(4, depth)}` },
						element('span', { class: 'mark', aria: { hidden: mark === '•' } }, mark),
						element('span', null, ...inline(text)),
					);
					return item;
				}),
			);
		case 'table':
			return element(
				'div',
				{ class: 'table-scroll', tabIndex: 0, role: 'region', aria: { label: 'Table' } },
				element(
					'table',
					{ class: 'plain-table' },
					element(
						'thead',
						null,
						element(
							'tr',
							null,
							...block.header.map((cell) => element('th', { attributes: { scope: 'col' } }, ...inline(cell))),
						),
					),
					element(
						'tbody',
						null,
						...block.rows.map((row) => element('tr', null, ...row.map((cell) => element('td', null, ...inline(cell))))),
					),
				),
			);
	}
}

function inlineView(content: readonly Inline[], parts: MarkdownParts): Child[] {
	return content.flatMap((part) => partView(part, parts));
}

function partView(part: Inline, parts: MarkdownParts): Child[] {
	switch (part.kind) {
		case 'text':
			return [part.text];
		case 'code':
			for (const { address } of findCitations(part.text)) parts.skipped(address);
			return [element('code', null, part.text)];
		case 'strong':
			return [element('strong', null, ...inlineView(part.content, parts))];
		case 'emphasis':
			return [element('em', null, ...inlineView(part.content, parts))];
		case 'image':
			return part.target.startsWith('rl://')
				? [parts.citation(part.target, [part.text === '' ? part.target : part.text])]
				: [`${part.text} (${part.target})`];
		case 'link': {
			const text = textOf(part.content);
			// Do not nest a link inside another link's text.
			if (part.target.startsWith('rl://')) return [parts.citation(part.target, [text])];
			const inner = inlineView(part.content, parts);
			return text === part.target ? inner : [...inner, ` (${part.target})`];
		}
	}
}

/** Returns the plain text of an inline element. */
function textOf(content: readonly Inline[]): string {
	return content
		.map((part) =>
			part.kind === 'text' || part.kind === 'code' || part.kind === 'image' ? part.text : textOf(part.content),
		)
		.join('');
}
