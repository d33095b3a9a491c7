export interface ChartScale {
	readonly low: number;
	readonly high: number;
	/** Tick values, ascending, between low and high. */
	readonly ticks: readonly number[];
}

/**
 * Computes rounded limits and ticks for a range of values (Heckbert 1990, "Nice numbers for graph labels").
 * @param wanted approximate number of ticks
 */
export function chartScale(min: number, max: number, wanted = 4): ChartScale {
	let [low, high] = [min, max];
	if (low === high) {
		const room = low === 0 ? 1 : Math.abs(low) * 0.1;
		[low, high] = [low - room, high + room];
	}
	const step = niceStep((high - low) / wanted);
	const first = Math.floor(low / step + 1e-9);
	const last = Math.ceil(high / step - 1e-9);
	// Use multiples rather than sums, because 0.1 + 0.2 is not 0.3.
	const ticks = Array.from({ length: Math.max(2, last - first + 1) }, (_, i) =>
		Number(((first + i) * step).toPrecision(15)),
	);
	return { low: ticks[0] as number, high: ticks.at(-1) as number, ticks };
}

function niceStep(raw: number): number {
	const power = 10 ** Math.floor(Math.log10(raw));
	const share = raw / power;
	return (share <= 1.5 ? 1 : share <= 3.5 ? 2 : share <= 7.5 ? 5 : 10) * power;
}
