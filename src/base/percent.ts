/** A share as percent: 0.3047 is "30%", with one decimal "30.5%". */
export function percentText(share: number, decimals = 0): string {
	return `${(share * 100).toFixed(decimals)}%`;
}

/** How far something is, rounded down: what is not done is never "100%". 0 of 0 is "0%". */
export function progressText(done: number, total: number): string {
	return `${total > 0 ? Math.floor((100 * done) / total) : 0}%`;
}
