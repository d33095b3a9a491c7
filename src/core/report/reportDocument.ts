/**
 * A report as data: what is told, not how it looks. Renderers make HTML (`reportHtml.ts`) and Markdown
 * (`reportMarkdown.ts`) of it. All texts are plain: no renderer takes any of them for markup.
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

/** Names and their values, a row each. */
export interface ReportFacts {
	readonly kind: 'facts';
	readonly caption: string;
	readonly rows: readonly (readonly [name: string, value: string])[];
}

export interface ReportTable {
	readonly kind: 'table';
	readonly caption: string;
	readonly columns: readonly ReportColumn[];
	/** As many cells as there are columns; the first names its row. */
	readonly rows: readonly (readonly string[])[];
	/** What is to be known to read it. */
	readonly note?: string;
}

export interface ReportColumn {
	readonly title: string;
	readonly numbers?: boolean;
}

/** Several small charts beside each other. */
export interface ReportCharts {
	readonly kind: 'charts';
	readonly charts: readonly ReportChart[];
}

export interface ReportChart {
	readonly title: string;
	/** Of the horizontal axis. */
	readonly x: string;
	readonly series: readonly ReportSeries[];
}

export interface ReportSeries {
	/** Empty: the only one. */
	readonly name: string;
	/** Ascending by x; numbers that are not finite are gaps. */
	readonly points: readonly ReportPoint[];
}

export interface ReportPoint {
	readonly x: number;
	readonly y: number;
	/** 95% interval. */
	readonly low?: number;
	readonly high?: number;
}

/** A text word for word: a completion, a recipe. */
export interface ReportText {
	readonly kind: 'text';
	readonly title: string;
	readonly text: string;
	/** What was left out of it. */
	readonly note?: string;
	/** Closed until somebody opens it, where that is possible. */
	readonly folded?: boolean;
}

/** A text as far as a report shows it. */
export function cutText(title: string, text: string, most: number, folded = false): ReportText {
	const base = { kind: 'text', title, ...(folded ? { folded } : {}) } as const;
	if (text.length <= most) return { ...base, text };
	// Half of a pair of surrogates would be a character of its own.
	const end = /[\ud800-\udbff]/.test(text[most - 1] as string) ? most - 1 : most;
	return { ...base, text: text.slice(0, end), note: `First ${end} of ${text.length} characters.` };
}
