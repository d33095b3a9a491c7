import { formatCounted, formatNumber } from '../../../src/base/format.ts';
import { element, setAria, setTitle } from '../dom.ts';
import { type StatisticColumn, statisticNames, stripOf } from './statisticScale.ts';

const namespace = 'http://www.w3.org/2000/svg';
/** Width of the sparkline in viewBox units; it is stretched to the available width. */
const width = 400;
const height = 36;
const tickHeight = 5;

function svg(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
	const node = document.createElementNS(namespace, name);
	for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
	return node;
}

/**
 * Sparkline of a per-token statistic, with a tick at each fork. Clicking the sparkline goes to the token at that
 * position.
 */
export class TokenStrip {
	readonly element = element('div', { class: 'token-strip', role: 'img' });
	readonly #drawing = svg('svg', {
		viewBox: `0 0 ${width} ${height}`,
		preserveAspectRatio: 'none',
		'aria-hidden': 'true',
	});
	readonly #cursor = svg('line', { class: 'strip-cursor', y1: 0, y2: height });
	#count = 1;

	constructor(onGo: (token: number) => void) {
		this.element.append(this.#drawing);
		this.element.addEventListener('click', (event) => {
			const { left, width: wide } = this.element.getBoundingClientRect();
			const share = wide > 0 ? (event.clientX - left) / wide : 0;
			onGo(Math.max(0, Math.min(this.#count - 1, Math.floor(share * this.#count))));
		});
	}

	draw(column: StatisticColumn, forks: readonly number[]): void {
		const { values } = column;
		this.#count = Math.max(1, values.length);
		const strip = stripOf(column, width);
		const room = height - tickHeight - 1;
		const step = width / strip.length;
		const line = strip.map((strength, i) => {
			const y = (room - (strength ?? 0) * room).toFixed(2);
			return `L${(i * step).toFixed(2)} ${y}L${((i + 1) * step).toFixed(2)} ${y}`;
		});
		const area = svg('path', { class: 'strip-area', d: `M0 ${room}${line.join('')}L${width} ${room}Z` });
		const ticks = forks.map((token) => {
			const x = ((token + 0.5) / this.#count) * width;
			return `M${x.toFixed(2)} ${height - tickHeight}V${height}`;
		});
		this.#drawing.replaceChildren(area, svg('path', { class: 'strip-forks', d: ticks.join('') }), this.#cursor);
		const known = values.filter((value) => value !== null);
		const mean = known.reduce((sum, value) => sum + value, 0) / Math.max(1, known.length);
		const open = values.reduce<number>((at, value, i) => {
			const best = values[at] ?? null;
			return value !== null && (best === null || column.strength(value) > column.strength(best)) ? i : at;
		}, 0);
		const where = `max at token ${open + 1} (${formatNumber(values[open] ?? null, 3)})`;
		const words = `${statisticNames[column.name]} over ${formatCounted(values.length, 'token')}: mean ${formatNumber(mean, 3)}, ${where}`;
		setAria(this.element, 'label', `${words}; ${formatCounted(forks.length, 'fork')}`);
		setTitle(this.element, words);
	}

	mark(token: number): void {
		const x = (((token + 0.5) / this.#count) * width).toFixed(2);
		this.#cursor.setAttribute('x1', x);
		this.#cursor.setAttribute('x2', x);
	}
}
