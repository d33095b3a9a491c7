import { describeMetric } from '../../../src/core/metrics/catalog.ts';
import type { PinnedChart } from '../../../src/protocol/pinnedCharts.ts';
import { type ButtonControl, button } from '../controls.ts';
import { element } from '../dom.ts';
import { type Select, select } from '../select.ts';
import { plainLabel } from '../trace/hiddenCharacters.ts';

/** Form that pins a chart of one metric against the step or another metric. */
export class NewChart {
	readonly button: HTMLElement;
	readonly element: HTMLElement;
	readonly #toggle: ButtonControl;
	readonly #x: Select;
	readonly #y: Select;
	#metrics: readonly string[] = [];
	#chosen = { x: '', y: '' };

	constructor(onPin: (chart: PinnedChart) => void) {
		this.#x = select('New chart: x axis', (x) => this.#choose({ x }));
		this.#y = select('New chart: y axis', (y) => this.#choose({ y }));
		this.#toggle = button({
			label: 'New Chart',
			icon: 'plus',
			pressed: false,
			onClick: () => this.#show(this.element.hidden === true),
		});
		this.button = this.#toggle.element;
		const pin = button({
			label: 'Pin Chart',
			icon: 'pin',
			onClick: () => {
				const { x, y } = this.#chosen;
				if (y === '') return;
				onPin({ x: x === '' ? null : x, y });
				this.#show(false);
			},
		});
		const labeled = (text: string, { element: control }: Select) =>
			element('label', { class: 'labeled' }, element('span', null, text), control);
		this.element = element(
			'div',
			{ class: 'toolbar new-chart', hidden: true },
			labeled('Y axis', this.#y),
			labeled('X axis', this.#x),
			pin.element,
		);
	}

	setMetrics(metrics: readonly string[]): void {
		if (metrics.length === this.#metrics.length && metrics.every((metric, i) => metric === this.#metrics[i])) return;
		this.#metrics = metrics;
		const { x, y } = this.#chosen;
		this.#choose({ x: metrics.includes(x) ? x : '', y: metrics.includes(y) ? y : (metrics[0] ?? '') });
	}

	#choose(change: Partial<{ x: string; y: string }>): void {
		this.#chosen = { ...this.#chosen, ...change };
		const named = this.#metrics.map((metric) => ({
			value: metric,
			label: plainLabel(describeMetric(metric).title, 80),
			title: metric,
		}));
		this.#y.set(named, this.#chosen.y);
		this.#x.set([{ value: '', label: 'Step' }, ...named], this.#chosen.x);
	}

	#show(shown: boolean): void {
		this.element.hidden = !shown;
		this.#toggle.setPressed(shown);
	}
}
