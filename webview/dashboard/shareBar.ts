import type { IDisposable } from '../../src/base/disposable.ts';
import { formatCounted } from '../../src/base/format.ts';
import type { ChartLine, ColumnSource } from '../lib/charts/chartSpec.ts';
import { element, fill, setText } from '../lib/dom.ts';
import type { Theme } from '../lib/theme.ts';

/** Share of each part in a stacked chart. */
export interface Shares {
	/** Mean per row and share of the total (0 to 1), keyed by metric. */
	readonly parts: ReadonlyMap<string, { readonly mean: number; readonly share: number }>;
	/** Number of rows in which at least one part has a value. */
	readonly rows: number;
}

/** Computes the shares over rows `from` to `to` (exclusive). Pure. */
export function sharesOf(metrics: readonly string[], source: ColumnSource, from: number, to: number): Shares {
	const sums = metrics.map(() => 0);
	const any = new Uint8Array(Math.max(0, to - from));
	metrics.forEach((name, i) => {
		const column = source.column(name);
		if (column === undefined) return;
		const end = Math.min(to, column.length);
		let sum = 0;
		for (let row = from; row < end; row++) {
			const value = column[row] as number;
			// Skip NaN and negative durations.
			if (!(value >= 0)) continue;
			sum += value;
			any[row - from] = 1;
		}
		sums[i] = sum;
	});
	let rows = 0;
	for (let i = 0; i < any.length; i++) rows += any[i] as number;
	const total = sums.reduce((sum, value) => sum + value, 0);
	return {
		parts: new Map(
			metrics.flatMap((name, i) => {
				const sum = sums[i] as number;
				return sum > 0 ? [[name, { mean: sum / rows, share: sum / total }] as const] : [];
			}),
		),
		rows,
	};
}

/** Maximum number of rows to sum without a delay. */
const manyRows = 20_000;

export interface ShareNeeds {
	readonly source: ColumnSource;
	readonly theme: () => Theme;
	/** Returns the visible lines. */
	readonly lines: () => readonly ChartLine[];
	/** Called when the shares have changed. */
	readonly onChange: () => void;
}

/** Bar that shows the shares, with a caption. The legend shows the same numbers as text. */
export class ShareBar implements IDisposable {
	readonly element: HTMLElement;
	readonly #bar = element('div', { class: 'share-bar', aria: { hidden: true } });
	readonly #caption = element('p', { class: 'chart-caption' });
	readonly #needs: ShareNeeds;
	#inView: Shares | null = null;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#key = '';

	constructor(needs: ShareNeeds) {
		this.#needs = needs;
		this.element = element('div', { class: 'shares' }, this.#bar, this.#caption);
	}

	/**
	 * Updates after the view has moved or rows have arrived. If there are many rows, waits for a pause so that panning
	 * stays fast.
	 */
	drawn(from: number, to: number): void {
		clearTimeout(this.#timer);
		const measure = (): void => {
			this.#inView = this.#of(from, to);
			this.#needs.onChange();
		};
		if (to - from <= manyRows) measure();
		else this.#timer = setTimeout(measure, 120);
	}

	/**
	 * Shows the shares at a row, or the mean over the visible rows.
	 *
	 * @param step step number of the row
	 * @returns the displayed shares, or null if they are not known yet
	 */
	show(row: number | null, step: number | undefined): Shares | null {
		const shares = row === null ? this.#inView : this.#of(row, row + 1);
		if (shares === null) return null;
		this.#draw(shares);
		setText(
			this.#caption,
			row === null ? `mean of ${formatCounted(shares.rows, 'step')} in view` : `step ${step ?? ''}`,
		);
		return shares;
	}

	dispose(): void {
		clearTimeout(this.#timer);
	}

	#of(from: number, to: number): Shares {
		const metrics = this.#needs.lines().map((line) => line.metric);
		return sharesOf(metrics, this.#needs.source, from, to);
	}

	#draw(shares: Shares): void {
		const theme = this.#needs.theme();
		const segments = this.#needs.lines().flatMap(({ metric, color }) => {
			const share = shares.parts.get(metric)?.share ?? 0;
			return share > 0 ? [{ share, color: theme.series[color % theme.series.length] ?? theme.foreground }] : [];
		});
		const key = JSON.stringify(segments.map(({ share, color }) => [share.toFixed(4), color]));
		if (key === this.#key) return;
		this.#key = key;
		fill(
			this.#bar,
			...segments.map(({ share, color }) => {
				const segment = element('span', { class: 'share-segment' });
				segment.style.flexGrow = String(share);
				segment.style.background = color;
				return segment;
			}),
		);
	}
}
