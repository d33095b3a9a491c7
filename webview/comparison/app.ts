import { Disposable } from '../../src/base/disposable.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { whenShown } from '../lib/frames.ts';
import { TabList } from '../lib/tabList.ts';
import { ThemeWatcher } from '../lib/theme.ts';
import { Tooltip } from '../lib/tooltip.ts';
import type { Change, ComparisonModel } from './comparisonModel.ts';
import { CurvesView } from './curvesView.ts';
import { HeldOutView } from './heldOutView.ts';
import { PromptsView } from './promptsView.ts';
import { RecipesView } from './recipesView.ts';
import { RunLegend } from './runLegend.ts';
import { type Tab, tabs } from './savedState.ts';

const tabNames: Readonly<Record<Tab, string>> = {
	curves: 'Curves',
	heldOut: 'Held-out accuracy',
	recipes: 'Recipes',
	prompts: 'Shared prompts',
};

/** Run comparison panel with a list of runs and tabs. */
export class App extends Disposable {
	readonly #model: ComparisonModel;
	readonly #themes = this.register(new ThemeWatcher());
	readonly #live = this.register(new LiveRegion());
	readonly #tooltip: Tooltip;
	readonly #legend: RunLegend;
	readonly #header: HTMLElement;
	readonly #tabs: TabList<Tab>;
	readonly #panel: HTMLElement;
	#curves: CurvesView | null = null;
	readonly #heldOut: HeldOutView;
	readonly #recipes: RecipesView;
	readonly #prompts: PromptsView;
	#shown: Tab | null = null;
	#steps = '';

	constructor(root: HTMLElement, model: ComparisonModel) {
		super();
		this.#model = model;
		const layer = element('div');
		this.#tooltip = this.register(new Tooltip(layer));
		this.#legend = new RunLegend(model, this.#themes);
		this.#heldOut = new HeldOutView(model, this.#themes);
		this.#recipes = this.register(new RecipesView(model, this.#themes));
		this.#prompts = this.register(new PromptsView(model, this.#themes));
		this.register({ dispose: () => this.#curves?.dispose() });
		this.#tabs = new TabList({
			label: 'Comparison views',
			tabs: tabs.map((id) => ({ id, label: tabNames[id] })),
			onSelect: (tab) => model.show(tab),
		});
		this.#panel = this.#tabs.panel(tabs, { class: 'tab-panel' });
		this.#header = element(
			'header',
			{ class: 'page-head' },
			element(
				'div',
				{ class: 'head-line' },
				element('h1', null, 'Comparison'),
				element('span', { class: 'spacer' }),
				button({ label: 'Select Runs', icon: 'sliders', onClick: () => model.host.post({ type: 'choose' }) }).element,
			),
			this.#legend.element,
			this.#tabs.element,
		);
		this.register(
			model.onChange(
				whenShown((changes) => {
					if (!this.#header.isConnected) fill(root, this.#header, this.#panel, layer, this.#live.element);
					this.#update(changes);
				}),
			),
		);
	}

	#update(changes: ReadonlySet<Change>): void {
		const { tab, runs } = this.#model;
		if (changes.has('runs') || changes.has('view')) this.#legend.update();
		if (runs.length === 0) return;
		if (this.#shown !== tab) {
			this.#shown = tab;
			this.#tabs.select(tab);
			this.#show(tab);
			return;
		}
		switch (tab) {
			case 'curves':
				if (changes.has('data') || changes.has('view') || changes.has('runs'))
					this.#curves?.update(changes.has('data'));
				break;
			case 'heldOut': {
				// New steps can include new evaluations.
				const steps = JSON.stringify(runs.map(({ step }) => step));
				if (changes.has('runs') && steps !== this.#steps) {
					this.#steps = steps;
					void this.#heldOut.load();
				} else if (changes.has('view')) this.#heldOut.draw();
				break;
			}
			case 'recipes':
				if (changes.has('view')) this.#recipes.draw();
				break;
			case 'prompts':
				if (changes.has('progress')) this.#prompts.showProgress();
				break;
		}
	}

	#show(tab: Tab): void {
		switch (tab) {
			case 'curves':
				this.#curves ??= new CurvesView(this.#model, this.#themes, this.#tooltip);
				fill(this.#panel, this.#curves.element);
				this.#curves.update(true);
				break;
			case 'heldOut':
				this.#steps = JSON.stringify(this.#model.runs.map(({ step }) => step));
				fill(this.#panel, this.#heldOut.element);
				void this.#heldOut.load();
				break;
			case 'recipes':
				fill(this.#panel, this.#recipes.element);
				void this.#recipes.load();
				break;
			case 'prompts':
				fill(this.#panel, this.#prompts.element);
				this.#prompts.draw();
				void this.#prompts.searchOnce();
				break;
		}
	}
}
