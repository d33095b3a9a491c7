/** Gain of a stage over the start that it shares with others, with its 95% interval. */
export interface Gain {
	readonly name: string;
	readonly mean: number;
	readonly low: number;
	readonly high: number;
}

/** Returns the table for stages that train from `base` in a Markdown report, and the gains in it. */
export function gainsOf(report: string): { readonly table: string; readonly gains: readonly Gain[] } {
	const table = report.slice(report.indexOf('Training from base')).split('\n\n', 3).join('\n\n');
	const rows = table.matchAll(/^\| ([a-z][\w-]*) \| \\?([+-][\d.]+) \((-?[\d.]+) to (-?[\d.]+)\)/gm);
	const gains = [...rows].map(([, name = '', mean, low, high]) => ({
		name,
		mean: Number(mean),
		low: Number(low),
		high: Number(high),
	}));
	return { table, gains };
}
