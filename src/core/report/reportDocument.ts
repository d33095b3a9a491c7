import { formatCount, formatCounted } from '../../base/format.ts';
/**
 * A report as data, independent of its presentation. Renderers produce HTML (`reportHtml.ts`) and Markdown
 * (`reportMarkdown.ts`). All text is plain: renderers never interpret it as markup.
 */
export interface ReportDocument {
	readonly title: string;
	/** Line below the title. */
	readonly subtitle: string;
	readonly sections: readonly ReportSection[];
}

export interface ReportSection {
	readonly title: string;
	readonly blocks: readonly ReportBlock[];
	readonly sections?: readonly ReportSection[];
}

export type ReportBlock = ReportParagraph | ReportList | ReportFacts | ReportTable | ReportCharts | ReportText;

export interface ReportParagraph {
	readonly kind: 'paragraph';
	readonly text: string;
}

export interface ReportList {
	readonly kind: 'list';
	readonly items: readonly string[];
}

/** A table of names and values, with one row per name. */
export interface ReportFacts {
	readonly kind: 'facts';
	readonly caption: string;
	readonly rows: readonly (readonly [name: string, value: string])[];
}

export interface ReportTable {
	readonly kind: 'table';
	readonly caption: string;
	readonly columns: readonly ReportColumn[];
	/** One cell per column; the first is the row header. */
	readonly rows: readonly (readonly string[])[];
	/** Explanation of the table. */
	readonly note?: string;
}

export interface ReportColumn {
	readonly title: string;
	readonly numbers?: boolean;
}

/** Several small charts shown side by side. */
export interface ReportCharts {
	readonly kind: 'charts';
	readonly charts: readonly ReportChart[];
}

export interface ReportChart {
	readonly title: string;
	/** X axis label. */
	readonly x: string;
	readonly series: readonly ReportSeries[];
}

export interface ReportSeries {
	/** Series name. Empty if it is the only series. */
	readonly name: string;
	/** Points in ascending x order. Non-finite numbers are gaps. */
	readonly points: readonly ReportPoint[];
}

export interface ReportPoint {
	readonly x: number;
	readonly y: number;
	/** Lower bound of the 95% interval. */
	readonly low?: number;
	readonly high?: number;
}

/** Verbatim text, such as a completion or a recipe. */
export interface ReportText {
	readonly kind: 'text';
	readonly title: string;
	readonly text: string;
	/** Note about what was omitted. */
	readonly note?: string;
	/** Whether the text is initially collapsed, if the format supports it. */
	readonly folded?: boolean;
}

/** Truncates text for a report. */
export function cutText(title: string, text: string, limit: number, folded = false): ReportText {
	const base = { kind: 'text', title, ...(folded ? { folded } : {}) } as const;
	if (text.length <= limit) return { ...base, text };
	// Do not split a surrogate pair.
	const end = /[\ud800-\udbff]/.test(text[limit - 1] as string) ? limit - 1 : limit;
	return {
		...base,
		text: text.slice(0, end),
		note: `First ${formatCount(end)} of ${formatCounted(text.length, 'character')}.`,
	};
}
