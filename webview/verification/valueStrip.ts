const namespace = 'http://www.w3.org/2000/svg';
const width = 96;
const height = 14;
const margin = 4;
/** Maximum number of distinguishable marks. */
const limit = 64;

/** Returns the positions of values between the ends of a strip, in CSS pixels. Pure. */
export function placeValues(values: readonly number[], [low, high]: readonly [number, number]): number[] {
	// Halve first, because the difference of two huge values would overflow.
	const span = high / 2 - low / 2;
	return values.map((value) => {
		const at = span === 0 ? 0.5 : (value / 2 - low / 2) / span;
		return margin + Math.max(0, Math.min(1, at)) * (width - 2 * margin);
	});
}

/** Draws values as dots on a line. Hidden from screen readers, because adjacent text states the values. */
export function valueStrip(values: readonly number[], range: readonly [number, number]): SVGSVGElement {
	const svg = document.createElementNS(namespace, 'svg');
	svg.setAttribute('class', 'value-strip');
	svg.setAttribute('width', String(width));
	svg.setAttribute('height', String(height));
	svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
	svg.setAttribute('aria-hidden', 'true');
	const line = document.createElementNS(namespace, 'path');
	line.setAttribute('class', 'strip-line');
	line.setAttribute('d', `M${margin} ${height / 2}H${width - margin}`);
	svg.append(line);
	for (const x of placeValues(values.slice(0, limit), range)) {
		const dot = document.createElementNS(namespace, 'circle');
		dot.setAttribute('class', 'strip-dot');
		dot.setAttribute('cx', x.toFixed(1));
		dot.setAttribute('cy', String(height / 2));
		dot.setAttribute('r', '3');
		svg.append(dot);
	}
	return svg;
}
