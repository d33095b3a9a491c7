/**
 * A report as data, independent of its appearance. Renderers produce HTML (`reportHtml.ts`) and Markdown
 * (`reportMarkdown.ts`). All texts are plain: no renderer interprets them as markup.
 */
export interface ReportDocument {
	readonly title: string;
	/** A line below the title. */
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

/** Names and values, one row each. */
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

/** Several small charts side by side. */
export interface ReportCharts {
	readonly kind: 'charts';
	readonly charts: readonly ReportChart[];
}

export interface ReportChart {
	readonly title: string;
	/** Label of the horizontal axis. */
	readonly x: string;
	readonly series: readonly ReportSeries[];
}

export interface ReportSeries {
	/** Empty if it is the only one. */
	readonly name: string;
	/** Ascending by x; non-finite numbers are gaps. */
	readonly points: readonly ReportPoint[];
}

export interface ReportPoint {
	readonly x: number;
	readonly y: number;
	/** 95% interval. */
	readonly low?: number;
	readonly high?: number;
}

/** A verbatim text: a completion, a recipe. */
export interface ReportText {
	readonly kind: 'text';
	readonly title: string;
	readonly text: string;
	/** Note on what was omitted. */
	readonly note?: string;
	/** Initially collapsed, if the format supports it. */
	readonly folded?: boolean;
}

/** Truncates a text for a report. */
export function cutText(title: string, text: string, most: number, folded = false): ReportText {
	const base = { kind: 'text', title, ...(folded ? { folded } : {}) } as const;
	if (text.length <= most) return { ...base, text };
	// Do not split a surrogate pair.
	const end = /[\ud800-\udbff]/.test(text[most - 1] as string) ? most - 1 : most;
	return { ...base, text: text.slice(0, end), note: `First ${end} of ${text.length} characters.` };
}
