/** Min width of a chart and the gap between charts, in pixels. */
const cardWidth = 300;
const gap = 12;
/** Padding on each side of a group. */
const sidePadding = 16;

/** Charts that fit side by side. @param width of the page, in pixels */
export const fittingColumns = (width: number): number =>
	Math.max(1, Math.floor((width - 2 * sidePadding + gap) / (cardWidth + gap)));

/**
 * Columns for so many charts where at most so many fit. One fewer where a chart would be alone in the last row; where it would be
 * alone either way, it takes the whole row.
 */
export function arrangement(charts: number, fitting: number): { readonly columns: number; readonly last: boolean } {
	const columns = Math.max(1, Math.min(charts, fitting));
	const alone = (by: number) => by > 1 && charts > by && charts % by === 1;
	if (!alone(columns)) return { columns: fitting, last: false };
	if (columns > 2 && !alone(columns - 1)) return { columns: columns - 1, last: false };
	return { columns, last: true };
}
