/** Minimum chart width and gap between charts, in pixels. */
const cardWidth = 300;
const gap = 12;
/** Padding on both sides of a group. */
const sidePadding = 16;

/** Returns the number of charts that fit side by side. @param width page width in pixels */
export const fittingColumns = (width: number): number =>
	Math.max(1, Math.floor((width - 2 * sidePadding + gap) / (cardWidth + gap)));

/**
 * Returns how many columns to use for a number of charts, given how many fit. Uses one column fewer if a single chart
 * would be left in the last row. If a single chart is left either way, it spans the whole row.
 */
export function arrangement(charts: number, fitting: number): { readonly columns: number; readonly last: boolean } {
	const columns = Math.max(1, Math.min(charts, fitting));
	const alone = (by: number) => by > 1 && charts > by && charts % by === 1;
	if (!alone(columns)) return { columns: fitting, last: false };
	if (columns > 2 && !alone(columns - 1)) return { columns: columns - 1, last: false };
	return { columns, last: true };
}
