import type { IDisposable } from '../../../src/base/disposable.ts';
import { element, setTitle } from '../dom.ts';
import { VirtualList } from '../virtualList.ts';
import type { CompletionTrace, RegionBlock, RegionKind } from './completionTrace.ts';
import { hiddenCharacters } from './hiddenCharacters.ts';
import { type Mark, marksWithin, segments } from './marks.ts';
import type { TextBlock } from './textBlocks.ts';

/** Maximum number of blocks to render all at once; in longer text, only the visible blocks are rendered. */
const drawnWhole = 6;
/** Number of frames after which measured heights are considered stable. */
const settleFrames = 8;
/** Estimated characters per line and line height in pixels, used until a block is rendered and measured. */
const guess = { characters: 48, line: 19 };

const regionNames: Readonly<Record<RegionKind, string | null>> = {
	think: 'Thinking',
	answer: 'Answer',
	outside: 'Outside tags',
	plain: null,
};

export interface TextBodyOptions {
	readonly label: string;
	readonly trace: CompletionTrace;
	/** Occurrences of the search text, sorted by start. */
	readonly found: readonly Mark[];
	/** Whether to mark behaviors. */
	readonly behaviors: boolean;
}

/** Text with sections and highlights. Long text is virtualized, and all content is inserted as text nodes. */
export class TextBody implements IDisposable {
	readonly element: HTMLElement;
	readonly #options: TextBodyOptions;
	#marks: readonly Mark[] = [];
	#longestMark = 0;
	readonly #list: VirtualList | null;
	#frame = 0;

	constructor(options: TextBodyOptions) {
		this.#options = options;
		const { trace, found, label } = options;
		this.#setMarks(found);
		const { blocks } = trace;
		if (blocks.length <= drawnWhole) {
			this.#list = null;
			this.element = element('div', { class: 'text-body', tabIndex: 0, role: 'group', aria: { label } });
			this.element.append(...blocks.map((block) => this.#block(block)));
			return;
		}
		this.#list = new VirtualList({
			label,
			role: 'group',
			rowRole: 'presentation',
			class: 'text-body',
			position: 'none',
			render: (i) => this.#block(blocks[i] as RegionBlock),
			estimate: (i) => {
				const block = blocks[i] as RegionBlock;
				const lines = block.breaks + Math.ceil((block.end - block.start) / guess.characters);
				return lines * guess.line;
			},
		});
		this.element = this.#list.element;
		this.#list.setCount(blocks.length);
	}

	/** Replaces the search marks; the trace's own marks are kept. */
	mark(found: readonly Mark[]): void {
		this.#setMarks(found);
		if (this.#list) this.#list.refresh();
		else this.element.replaceChildren(...this.#options.trace.blocks.map((block) => this.#block(block)));
	}

	/** Scrolls to the first search match, or to the first mark of another kind, at or after an offset. */
	reveal(offset: number, kind = 'found'): void {
		const at = this.#options.trace.blocks.findIndex((block) => block.end > offset);
		if (at === -1) return;
		this.#approach(at, { offset, kind }, settleFrames);
	}

	#setMarks(found: readonly Mark[]): void {
		this.#marks = [...this.#options.trace.marks, ...found].sort((a, b) => a.start - b.start);
		this.#longestMark = this.#marks.reduce((longest, mark) => Math.max(longest, mark.end - mark.start), 0);
	}

	/**
	 * Scrolls to an offset repeatedly until its position is stable, because the heights of rows that become visible can
	 * differ from the estimates.
	 */
	#approach(at: number, sought: { readonly offset: number; readonly kind: string }, frames: number): void {
		const row = this.#list ? this.#list.reveal(at) : (this.element.children[at] as HTMLElement | undefined);
		const marks = [...(row?.querySelectorAll<HTMLElement>(`.m-${sought.kind}`) ?? [])];
		const mark = marks.find((node) => Number(node.dataset.at) >= sought.offset) ?? marks[0];
		if (mark) {
			const view = this.element.getBoundingClientRect();
			const place = mark.getBoundingClientRect();
			const outside = place.top < view.top || place.bottom > view.bottom;
			if (outside) this.element.scrollTop += place.top - view.top - this.element.clientHeight / 3;
		}
		cancelAnimationFrame(this.#frame);
		if (frames > 0) this.#frame = requestAnimationFrame(() => this.#approach(at, sought, frames - 1));
	}

	dispose(): void {
		cancelAnimationFrame(this.#frame);
		this.#list?.dispose();
		this.element.remove();
	}

	#block(block: RegionBlock): HTMLElement {
		const { region } = block;
		return drawBlock(this.#options.trace.text, block, this.#within(block), region.kind, regionNames[region.kind]);
	}

	#within(block: RegionBlock): Mark[] {
		const within = marksWithin(this.#marks, this.#longestMark, block.start, block.end);
		return this.#options.behaviors ? within : within.filter(({ kind }) => !kind.startsWith('behavior-'));
	}
}

/** Renders a block of text; the first block in a named region shows the region's name. */
export function drawBlock(
	text: string,
	block: TextBlock & { readonly first: boolean },
	marks: Mark[],
	kind: string,
	name: string | null,
): HTMLElement {
	const node = element('div', { class: `block region-${kind}` });
	if (block.first && name !== null) node.append(element('div', { class: 'region-name' }, name));
	if (block.continued) node.append(element('span', { class: 'continued', title: 'Line continues' }, '⤷'));
	const content = element('div', { class: 'block-text' });
	// The line ends with the block element.
	const end = text.charCodeAt(block.end - 1) === 10 ? block.end - 1 : block.end;
	appendMarked(content, text, block.start, end, marks);
	node.append(content);
	if (block.first) node.classList.add('first');
	return node;
}

/**
 * Appends [start, end) of the text: marks become spans, hidden characters are shown by name, and everything else
 * becomes text nodes.
 */
export function appendMarked(node: HTMLElement, text: string, start: number, end: number, marks: Mark[]): void {
	const hidden = hiddenCharacters(text, start, end).map(
		(character): Mark => ({ start: character.start, end: character.end, kind: 'hidden', title: character.label }),
	);
	for (const segment of segments(start, end, [...marks, ...hidden])) {
		const unseen = segment.marks.find(({ kind }) => kind === 'hidden');
		const content = unseen ? (unseen.title ?? '') : text.slice(segment.start, segment.end);
		if (segment.marks.length === 0) {
			node.append(document.createTextNode(content));
			continue;
		}
		const title = unseen
			? `Hidden character ${unseen.title}`
			: segment.marks.map((mark) => mark.title).filter((words) => words !== undefined);
		const span = element(
			segment.marks.some(({ kind }) => kind === 'found') ? 'mark' : 'span',
			{ class: segment.marks.map(({ kind }) => `m-${kind}`).join(' '), data: { at: segment.start } },
			content,
		);
		if (title.length > 0) setTitle(span, typeof title === 'string' ? title : title.join('\n'));
		node.append(span);
	}
}
