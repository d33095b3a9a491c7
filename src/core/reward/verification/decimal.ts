/** An exact decimal number: `unscaled / 10^places`. */
export interface Decimal {
	readonly unscaled: bigint;
	readonly places: number;
	/** Whether the number is written with thousands separators. */
	readonly grouped: boolean;
}

const pattern = /^([+-]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?$/;
const longest = 60;

/** Parses `-1,234.50`; returns null for any other format or for more than 60 characters. */
export function parseDecimal(text: string): Decimal | null {
	if (text.length > longest) return null;
	const match = pattern.exec(text.replace(/^−/, '-'));
	if (match === null) return null;
	const [, sign, whole = '', fraction = ''] = match;
	const unscaled = BigInt(whole.replaceAll(',', '') + fraction);
	return { unscaled: sign === '-' ? -unscaled : unscaled, places: fraction.length, grouped: whole.includes(',') };
}

export function formatDecimal({ unscaled, places, grouped }: Decimal): string {
	const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(places + 1, '0');
	const whole = digits.slice(0, digits.length - places);
	const shown = grouped ? whole.replace(/\B(?=(?:\d{3})+$)/g, ',') : whole;
	return `${unscaled < 0n ? '-' : ''}${shown}${places === 0 ? '' : `.${digits.slice(-places)}`}`;
}

/** Returns whether two decimals are equal, regardless of the number of decimal places. */
export function equalDecimals(a: Decimal, b: Decimal): boolean {
	const places = Math.max(a.places, b.places);
	const scaled = (n: Decimal) => n.unscaled * 10n ** BigInt(places - n.places);
	return scaled(a) === scaled(b);
}
