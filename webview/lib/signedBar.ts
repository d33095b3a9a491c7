import { formatNumber } from '../../src/base/format.ts';
import { element } from './dom.ts';

/** Formats a number with its sign, such as "+0.87". */
export function signedNumber(value: number | null): string {
	return value !== null && value > 0 ? `+${formatNumber(value, 3)}` : formatNumber(value, 3);
}

/**
 * Creates a bar that extends left or right from the center, with the number next to it. `largest` is the value that
 * fills one half.
 */
export function signedBar(value: number | null, largest: number): HTMLElement {
	const bar = element('span', { class: `signed-fill ${(value ?? 0) < 0 ? 'negative' : 'positive'}` });
	const share = value === null || largest === 0 ? 0 : Math.min(1, Math.abs(value) / largest) * 50;
	bar.style.width = `${share}%`;
	bar.style.left = (value ?? 0) < 0 ? `${50 - share}%` : '50%';
	return element('span', { class: 'signed-bar', aria: { hidden: true } }, bar);
}
