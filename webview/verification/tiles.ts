import { Disposable, type IDisposable } from '../../src/base/disposable.ts';
import { rovingFocus } from '../lib/a11y.ts';
import { element, fill, unseen } from '../lib/dom.ts';
import type { Tooltip } from '../lib/tooltip.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { RowFilters } from './rowFilters.ts';
import type { Statistic } from './statistics.ts';

const levelWords = { notice: ', worth checking', bad: ', problem' } as const;

/** Row of statistics with a single tab stop. Clicking a tile shows the rows it counts. */
export class Tiles extends Disposable {
	readonly element = element('div', { class: 'tiles', role: 'group', aria: { label: 'Statistics' } });
	readonly #tooltip: Tooltip;
	readonly #show: (rows: Partial<RowFilters>) => void;
	readonly #focus;
	#explained: IDisposable[] = [];

	constructor(tooltip: Tooltip, show: (rows: Partial<RowFilters>) => void) {
		super();
		this.#tooltip = tooltip;
		this.#show = show;
		this.#focus = this.register(rovingFocus(this.element, () => [...this.element.children] as HTMLElement[]));
		this.register({ dispose: () => this.#forget() });
	}

	update(statistics: readonly Statistic[]): void {
		this.#forget();
		fill(this.element, ...statistics.map((statistic) => this.#tile(statistic)));
		this.#focus.settle();
	}

	#tile(statistic: Statistic): HTMLElement {
		const { name, value, note, level, meaning, rows } = statistic;
		const label = note === undefined ? '' : plainLabel(note, 60);
		const tile = element(
			rows === undefined ? 'div' : 'button',
			{
				class: `tile level-${level}`,
				tabIndex: -1,
				...(rows === undefined ? { role: 'note' } : { attributes: { type: 'button' } }),
			},
			element('span', { class: 'tile-name' }, name, unseen(': ')),
			element('span', { class: 'tile-value' }, value),
			label !== '' && element('span', { class: 'tile-note' }, unseen(', '), label),
			level !== 'plain' && unseen(levelWords[level]),
		);
		if (rows !== undefined) tile.addEventListener('click', () => this.#show(rows));
		const paragraphs = rows === undefined ? [meaning] : [meaning, 'Click to see these rows.'];
		this.#explained.push(this.#tooltip.explain(tile, () => ({ title: name, paragraphs })));
		return tile;
	}

	#forget(): void {
		for (const one of this.#explained) one.dispose();
		this.#explained = [];
	}
}
