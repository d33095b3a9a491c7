/** Marked range of text: `tag`, `behavior-verification`, `found`, ... Offsets are UTF-16 code units. */
export interface Mark {
	readonly start: number;
	readonly end: number;
	readonly kind: string;
	/** Description of the mark, shown as a tooltip. */
	readonly title?: string;
}

export interface Segment {
	readonly start: number;
	readonly end: number;
	/** Marks that cover the segment, in their original order. */
	readonly marks: readonly Mark[];
}

/**
 * Divides [start, end) at the edges of the marks, so that each segment is completely inside or outside of each mark.
 * Marks can overlap; marks outside the range are ignored.
 */
export function segments(start: number, end: number, marks: readonly Mark[]): Segment[] {
	if (end <= start) return [];
	const inside = marks.filter((mark) => mark.start < end && mark.end > start && mark.end > mark.start);
	if (inside.length === 0) return [{ start, end, marks: [] }];
	const edges = new Set([start, end]);
	for (const mark of inside) {
		edges.add(Math.max(start, mark.start));
		edges.add(Math.min(end, mark.end));
	}
	const cuts = [...edges].sort((a, b) => a - b);
	const out: Segment[] = [];
	for (let i = 0; i + 1 < cuts.length; i++) {
		const from = cuts[i] as number;
		const to = cuts[i + 1] as number;
		out.push({ start: from, end: to, marks: inside.filter((mark) => mark.start <= from && mark.end >= to) });
	}
	return out;
}

/**
 * Returns the marks that overlap [start, end), using binary search in a list sorted by start; `longest` is the maximum
 * mark length.
 */
export function marksWithin(sorted: readonly Mark[], longest: number, start: number, end: number): Mark[] {
	let low = 0;
	let high = sorted.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((sorted[middle] as Mark).start < start - longest) low = middle + 1;
		else high = middle;
	}
	const out: Mark[] = [];
	for (let i = low; i < sorted.length; i++) {
		const mark = sorted[i] as Mark;
		if (mark.start >= end) break;
		if (mark.end > start) out.push(mark);
	}
	return out;
}
