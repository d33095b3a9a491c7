import { formatCount, formatCounted, formatNumber, formatPercent } from '../../src/base/format.ts';
import { comparePaired, type PairedComparison } from '../../src/core/evaluation/pairProblems.ts';
import type { HeldOut, PairResult } from '../../src/protocol/runComparisonMessages.ts';
import { button, type DropdownControl, dropdown } from '../lib/controls.ts';
import { element, fill, setAria, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { rowHead, staticTable, tableBox } from '../lib/staticTable.ts';
import type { ThemeWatcher } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { ComparisonModel } from './comparisonModel.ts';
import { lineSample } from './lineStyles.ts';

interface Drawn {
	/** Evaluations and run names that the controls were built for. */
	readonly content: string;
	readonly theme: ThemeWatcher['theme'];
	readonly baseline: DropdownControl;
	readonly status: HTMLElement;
	readonly rows: readonly (() => void)[];
}

/** Held-out accuracy with confidence intervals, and a paired test of each run against the baseline. */
export class HeldOutView {
	readonly element = element('div', { class: 'held-out' });
	readonly #model: ComparisonModel;
	readonly #themes: ThemeWatcher;
	#shown: readonly (readonly HeldOut[])[] | null = null;
	#failure: string | null = null;
	#loading = false;
	/** Index of the selected evaluation for each run. */
	#chosen: (number | null)[] = [];
	/**
	 * The current elements. Later updates only change cells, because replacing a dropdown would close its open list.
	 */
	#drawn: Drawn | null = null;
	/** Test results, keyed by pair of evaluations. */
	readonly #pairs = new Map<string, PairedComparison | 'loading'>();

	constructor(model: ComparisonModel, themes: ThemeWatcher) {
		this.#model = model;
		this.#themes = themes;
	}

	/** Loads the evaluations. */
	async load(): Promise<void> {
		if (this.#loading) return;
		this.#loading = true;
		this.draw();
		try {
			const { runs } = await this.#model.host.request('heldOut', {});
			const before = this.#shown;
			this.#shown = runs;
			this.#failure = null;
			if (before === null || JSON.stringify(before) !== JSON.stringify(runs)) this.#choose();
		} catch (error) {
			this.#failure = String(error);
		}
		this.#loading = false;
		this.draw();
	}

	/** Selects the latest evaluation with the most common name. */
	#choose(): void {
		const names = new Map<string, number>();
		for (const list of this.#shown ?? []) {
			for (const name of new Set(list.map((one) => one.name))) names.set(name, (names.get(name) ?? 0) + 1);
		}
		const [best] = [...names].sort((a, b) => b[1] - a[1])[0] ?? [null];
		this.#chosen = (this.#shown ?? []).map((list) => {
			const at = list.findLastIndex(({ name }) => name === best);
			return at >= 0 ? at : list.length > 0 ? list.length - 1 : null;
		});
		this.#pairs.clear();
	}

	draw(): void {
		const model = this.#model;
		if (this.#shown === null) {
			this.#drawn = null;
			fill(
				this.element,
				this.#failure === null
					? element('p', { class: 'quiet', role: 'status' }, 'Loading evaluations…')
					: element('p', { role: 'alert' }, plainLabel(this.#failure, 600)),
			);
			return;
		}
		if (this.#shown.every((list) => list.length === 0)) {
			this.#drawn = null;
			fill(
				this.element,
				emptyState({
					title: 'No held-out evaluations',
					text: 'None of the runs has held-out results. Add "evaluation" to the recipe to record them.',
					actions: [{ label: 'Refresh', run: () => void this.load() }],
				}),
			);
			return;
		}
		const { theme } = this.#themes;
		const content = JSON.stringify([this.#shown, model.runs.map(({ name }) => name)]);
		if (this.#drawn?.content !== content || this.#drawn.theme !== theme) this.#drawn = this.#build(content);
		const { baseline, status, rows } = this.#drawn;
		baseline.setValue(String(model.baseline));
		setText(status, this.#loading ? 'Loading…' : '');
		for (const update of rows) update();
	}

	#build(content: string): Drawn {
		const model = this.#model;
		const baseline = dropdown({
			label: 'Baseline',
			showLabel: true,
			choices: model.runs.map(({ name }, i) => ({ value: String(i), label: plainLabel(name, 60) })),
			value: String(model.baseline),
			onChange: (value) => model.setBaseline(Number(value)),
		});
		const status = element('span', { class: 'quiet', role: 'status' });
		const rows = model.runs.map((_, run) => this.#row(run));
		const others = model.runs.length - 1;
		fill(
			this.element,
			element(
				'div',
				{ class: 'toolbar' },
				baseline.element,
				button({ label: 'Refresh', icon: 'reset', onClick: () => void this.load() }).element,
				status,
			),
			tableBox(
				'Held-out accuracy table',
				staticTable('', {
					head: ['Run', 'Evaluation', 'Accuracy, 95% interval', 'vs. baseline'],
					rows: rows.map((row) => row.element),
				}),
			),
			element(
				'p',
				{ class: 'quiet note' },
				`Problems are paired by prompt. With one sample per problem, an exact McNemar test is used; with several, a sign-flip test over problems.${others > 1 ? ` The p-values are not corrected for ${formatCounted(others, 'comparison')}.` : ''}`,
			),
		);
		return { content, theme: this.#themes.theme, baseline, status, rows: rows.map(({ update }) => update) };
	}

	#row(run: number): { readonly element: HTMLElement; update(): void } {
		const { runs } = this.#model;
		const list = this.#shown?.[run] ?? [];
		const name = plainLabel(runs[run]?.name ?? '', 80);
		const head = rowHead(
			element('span', { class: 'run-cell' }, lineSample(run, this.#themes.theme), element('span', null, name)),
		);
		if (this.#chosen[run] == null) {
			const cell = element('td', { class: 'quiet', attributes: { colspan: 3 } }, 'Not evaluated');
			return { element: element('tr', null, head, cell), update: () => undefined };
		}
		const choice = dropdown({
			label: '',
			choices: list.map((one, i) => ({
				value: String(i),
				label: `${plainLabel(one.name, 40)}, step ${formatCount(one.step)}`,
			})),
			value: String(this.#chosen[run]),
			onChange: (value) => {
				this.#chosen[run] = Number(value);
				this.draw();
			},
		});
		choice.element.querySelector('vscode-dropdown')?.setAttribute('aria-label', `Evaluation for ${name}`);
		if (choice.element.matches('vscode-dropdown')) setAria(choice.element, 'label', `Evaluation for ${name}`);
		const size = element('div', { class: 'quiet' });
		const [accuracy, against] = [element('td'), element('td')];
		const update = (): void => {
			const shown = list[this.#chosen[run] as number];
			if (shown === undefined) return;
			choice.setValue(String(this.#chosen[run]));
			const samples = shown.samples === 1 ? '' : `, ${formatNumber(shown.samples, 3)} samples each`;
			setText(size, `${formatCounted(shown.problems, 'problem')}${samples}`);
			fill(
				accuracy,
				element('strong', null, formatPercent(shown.accuracy)),
				element('span', { class: 'quiet' }, ` ${formatPercent(shown.low)} to ${formatPercent(shown.high)}`),
				this.#interval(shown, run),
				shown.source === 'rollouts' && element('div', { class: 'quiet' }, 'Computed from evaluation rollouts'),
			);
			fill(against, ...this.#against(run, shown));
		};
		return { element: element('tr', null, head, element('td', null, choice.element, size), accuracy, against), update };
	}

	#interval({ accuracy, low, high }: HeldOut, run: number): HTMLElement {
		const theme = this.#themes.theme;
		const bar = element('span', { class: 'interval-bar' });
		bar.style.left = `${100 * low}%`;
		bar.style.width = `${100 * Math.max(0, high - low)}%`;
		bar.style.background = theme.fill(run, 0.5);
		const dot = element('span', { class: 'interval-dot' });
		dot.style.left = `${100 * accuracy}%`;
		dot.style.background = theme.series[run % theme.series.length] ?? theme.foreground;
		return element('span', { class: 'interval', aria: { hidden: true } }, bar, dot);
	}

	#against(run: number, shown: HeldOut): (Node | string)[] {
		const { baseline } = this.#model;
		if (run === baseline) return [element('span', { class: 'quiet' }, 'Baseline')];
		const at = this.#chosen[baseline];
		const base = at == null ? undefined : this.#shown?.[baseline]?.[at];
		if (base === undefined) return [element('span', { class: 'quiet' }, 'The baseline was not evaluated.')];
		const key = JSON.stringify([baseline, base.name, base.step, run, shown.name, shown.step]);
		const known = this.#pairs.get(key);
		if (known === undefined) {
			this.#pairs.set(key, 'loading');
			void this.#pair(key, { run: baseline, shown: base }, { run, shown });
		}
		if (known === undefined || known === 'loading') return [element('span', { class: 'quiet' }, 'Pairing problems…')];
		return pairedWords(known);
	}

	async #pair(
		key: string,
		first: { readonly run: number; readonly shown: HeldOut },
		second: { readonly run: number; readonly shown: HeldOut },
	): Promise<void> {
		const place = ({ run, shown: { name, step, source } }: typeof first) => ({ run, name, step, source });
		let result: PairedComparison;
		try {
			result = pairedOf(await this.#model.host.request('pair', { first: place(first), second: place(second) }));
		} catch (error) {
			result = { test: 'none', reason: String(error) };
		}
		this.#pairs.set(key, result);
		this.draw();
	}
}

/** Runs the paired test on the counts. */
export function pairedOf({ counts, reason }: PairResult): PairedComparison {
	if (counts === null) return { test: 'none', reason: reason ?? 'Cannot pair the samples.' };
	const pairs = counts.firstRight.map((right, i) => ({
		first: { right, samples: counts.firstSamples[i] ?? 1 },
		second: { right: counts.secondRight[i] ?? 0, samples: counts.secondSamples[i] ?? 1 },
	}));
	return comparePaired({ pairs, onlyFirst: counts.onlyFirst, onlySecond: counts.onlySecond });
}

/** Describes a paired comparison. */
export function pairedWords(result: PairedComparison): (Node | string)[] {
	if (result.test === 'none') {
		return [element('span', { class: 'not-paired' }, 'Not paired: ', plainLabel(result.reason, 400))];
	}
	const { difference, p, problems } = result;
	const points = (value: number): string =>
		`${value > 0 ? '+' : value < 0 ? '−' : ''}${formatNumber(Math.abs(100 * value), 3)}`;
	const clear = p < 0.05;
	const verdict = !clear ? 'Not significant' : difference.mean > 0 ? 'Better' : 'Worse';
	const test =
		result.test === 'mcnemar'
			? `exact McNemar: ${formatCounted(result.onlySecond, 'problem')} won, ${formatCount(result.onlyFirst)} lost`
			: `sign-flip test: ${formatCounted(result.gained, 'problem')} gained, ${formatCount(result.lost)} lost`;
	return [
		element('span', { class: clear ? (difference.mean > 0 ? 'badge right' : 'badge wrong') : 'badge' }, verdict),
		element(
			'div',
			null,
			`${points(difference.mean)} points (${points(difference.low)} to ${points(difference.high)}), p ${p < 0.001 ? '< 0.001' : `= ${formatNumber(p, 2)}`}`,
		),
		element('div', { class: 'quiet' }, `${test}; ${formatCounted(problems, 'problem')} in both`),
	];
}
