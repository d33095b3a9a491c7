import type * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { decode } from '../../protocol/decode.ts';
import { maxPinned, type PinnedChart, pinnedChartsSchema } from '../../protocol/pinnedCharts.ts';

const memoryKey = 'reasoningLab.pinnedCharts';

/** Charts pinned to the top of comparisons and dashboards, one list per workspace. */
export class PinnedCharts extends Disposable {
	readonly #memory: vscode.Memento;
	readonly #changed = this.register(new Emitter<void>());
	readonly onChange = this.#changed.event;

	constructor(memory: vscode.Memento) {
		super();
		this.#memory = memory;
	}

	get charts(): PinnedChart[] {
		const decoded = decode(pinnedChartsSchema, this.#memory.get(memoryKey, []));
		return decoded.ok ? decoded.value : [];
	}

	async pin(chart: PinnedChart, pinned: boolean): Promise<void> {
		const others = this.charts.filter(({ x, y }) => x !== chart.x || y !== chart.y);
		await this.#memory.update(memoryKey, pinned ? [...others, chart].slice(-maxPinned) : others);
		this.#changed.fire();
	}
}
