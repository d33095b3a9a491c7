import { formatCount } from '../../src/base/format.ts';
import type { ComparedRun } from '../../src/protocol/runComparisonMessages.ts';
import { element, fill, setAria } from '../lib/dom.ts';
import type { ThemeWatcher } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { ComparisonModel } from './comparisonModel.ts';
import { lineSample, styleName } from './lineStyles.ts';

/** List of runs, with line style, trainer, progress, and a visibility toggle. */
export class RunLegend {
	readonly element = element('ul', { class: 'runs', aria: { label: 'Runs' } });
	readonly #model: ComparisonModel;
	readonly #themes: ThemeWatcher;
	#key = '';

	constructor(model: ComparisonModel, themes: ThemeWatcher) {
		this.#model = model;
		this.#themes = themes;
		themes.onChange(() => this.update(true));
	}

	/** Redraws only if something has changed, to keep focus. */
	update(force = false): void {
		const { runs, hidden, grouped } = this.#model;
		const key = JSON.stringify([runs, [...hidden], grouped]);
		if (key === this.#key && !force) return;
		const focused = this.element.contains(document.activeElement)
			? [...this.element.querySelectorAll('button')].indexOf(document.activeElement as HTMLButtonElement)
			: -1;
		this.#key = key;
		fill(this.element, ...runs.map((run, i) => this.#entry(run, i)));
		if (focused >= 0) this.element.querySelectorAll('button')[focused]?.focus();
	}

	#entry(run: ComparedRun, i: number): HTMLElement {
		const model = this.#model;
		const name = plainLabel(run.name, 80);
		const shown = !model.hidden.has(i);
		const style = model.styleOf(i);
		const facts = [
			run.trainer !== '' && plainLabel(run.trainer, 40),
			run.status,
			run.step !== null && `step ${formatCount(run.step)}`,
			!run.loaded && 'loading…',
		].filter((words) => words !== false && words !== null);
		const toggle = element(
			'button',
			{
				class: 'run-toggle',
				attributes: { type: 'button' },
				title: shown ? `Hide curves for ${name}` : `Show curves for ${name}`,
				on: { click: () => model.toggleRun(i) },
			},
			lineSample(style, this.#themes.theme),
			element('span', { class: 'visually-hidden' }, `${styleName(style)} line: `),
			element('span', { class: 'run-name' }, name),
		);
		setAria(toggle, 'pressed', shown);
		return element(
			'li',
			{ class: shown ? 'run' : 'run off', data: { run: i } },
			toggle,
			element(
				'button',
				{
					class: 'link',
					attributes: { type: 'button' },
					aria: { label: `Dashboard for ${name}` },
					on: { click: () => model.host.post({ type: 'openDashboard', run: i }) },
				},
				'Dashboard',
			),
			element('span', { class: 'quiet run-facts' }, facts.join(' · ')),
			run.fault !== null &&
				element(
					'span',
					{ class: 'run-fault', role: 'alert' },
					plainLabel(`${run.fault.message} ${run.fault.action ?? ''}`, 600),
				),
		);
	}
}
