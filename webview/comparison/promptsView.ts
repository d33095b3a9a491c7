import { Disposable, type IDisposable } from '../../src/base/disposable.ts';
import { Failure } from '../../src/base/failure.ts';
import { formatCount, formatCounted, formatNumber, formatPercent } from '../../src/base/format.ts';
import type {
	PromptCompletion,
	PromptResult,
	PromptSide,
	PromptsResult,
} from '../../src/protocol/runComparisonMessages.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { SelectionList } from '../lib/selectionList.ts';
import type { ThemeWatcher } from '../lib/theme.ts';
import { noTags, traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import { truncationBadge } from '../lib/truncationBadge.ts';
import type { ComparisonModel } from './comparisonModel.ts';
import { lineSample } from './lineStyles.ts';

/** View of shared prompts with each run's completions. */
export class PromptsView extends Disposable {
	readonly element = element('div', { class: 'prompts' });
	readonly #model: ComparisonModel;
	readonly #themes: ThemeWatcher;
	readonly #status = element('p', { class: 'quiet', role: 'status' });
	readonly #list: SelectionList;
	readonly #detail = element('div', { class: 'prompt-detail' });
	#result: PromptsResult | null = null;
	#failure: string | null = null;
	#searching = false;
	#selected = 0;
	#steps: (number | null)[] = [];
	#asked = 0;
	#texts: IDisposable[] = [];

	constructor(model: ComparisonModel, themes: ThemeWatcher) {
		super();
		this.#model = model;
		this.#themes = themes;
		this.#list = this.register(
			new SelectionList({
				label: 'Shared prompts',
				class: 'prompt-list',
				rowHeight: 44,
				draw: (row, index) => this.#drawRow(row, index),
				onSelect: (index) => this.#select(index),
			}),
		);
		this.register({ dispose: () => this.#clearTexts() });
	}

	/** Starts the search when the view is first shown. */
	async searchOnce(): Promise<void> {
		if (this.#result === null && this.#failure === null) await this.search(false);
	}

	async search(all: boolean): Promise<void> {
		if (this.#searching) return;
		this.#searching = true;
		this.#failure = null;
		this.#model.progress = null;
		this.draw();
		try {
			this.#result = await this.#model.host.request('prompts', { all });
			this.#selected = 0;
		} catch (error) {
			this.#failure = Failure.from(error).toString();
		}
		this.#searching = false;
		this.draw();
		if ((this.#result?.prompts.length ?? 0) > 0) this.#select(0);
	}

	draw(): void {
		const result = this.#result;
		const prompts = result?.prompts ?? [];
		this.showProgress();
		const toolbar = element(
			'div',
			{ class: 'toolbar' },
			this.#searching
				? button({
						label: 'Stop',
						icon: 'stop',
						onClick: () => this.#model.host.post({ type: 'cancelPrompts' }),
					}).element
				: button({
						label: result === null ? 'Search' : 'Search Again',
						icon: 'search',
						onClick: () => void this.search(false),
					}).element,
			!this.#searching &&
				result?.bounded === true &&
				button({ label: 'Search Everything', icon: 'search', onClick: () => void this.search(true) }).element,
			this.#status,
		);
		if (this.#failure !== null) {
			fill(this.element, toolbar, element('p', { role: 'alert' }, plainLabel(this.#failure, 600)));
			return;
		}
		if (prompts.length === 0) {
			const none = !this.#searching && result !== null;
			fill(
				this.element,
				toolbar,
				none &&
					emptyState({
						title: 'No shared prompts',
						text: `No prompt occurs in more than one run (${this.#seenWords(result)}).${result.bounded ? ' This was a partial scan.' : ''}`,
						actions: result.bounded ? [{ label: 'Search Everything', run: () => void this.search(true) }] : [],
					}),
			);
			return;
		}
		fill(this.element, toolbar, element('div', { class: 'prompt-panes' }, this.#list.element, this.#detail));
		this.#list.update(prompts.length, this.#selected);
	}

	/** Shows the search progress or result. */
	showProgress(): void {
		const { progress } = this.#model;
		const result = this.#result;
		if (this.#searching) {
			setText(
				this.#status,
				progress === null
					? 'Searching…'
					: `Searching: ${formatCounted(progress.rollouts, 'rollout')}, ${formatCount(progress.steps)} of ${formatCounted(progress.totalSteps, 'step')}…`,
			);
			return;
		}
		if (result === null) {
			setText(this.#status, '');
			return;
		}
		const count = result.prompts.length;
		setText(
			this.#status,
			`${formatCounted(count, 'shared prompt')} (${this.#seenWords(result)})` +
				(result.canceled ? '; stopped' : result.bounded ? '; partial scan' : '') +
				(result.skipped > 0 ? `; ${formatCounted(result.skipped, 'record')} could not be read` : ''),
		);
	}

	#seenWords({ seen }: PromptsResult): string {
		return seen
			.map((count, run) => `${plainLabel(this.#model.runs[run]?.name ?? '', 40)}: ${formatCount(count)}`)
			.join(', ');
	}

	#drawRow(row: HTMLElement, index: number): void {
		const prompt = this.#result?.prompts[index];
		if (prompt === undefined) return;
		const runs = prompt.groups.flatMap((count, run) => (count > 0 ? [run] : []));
		row.append(
			element('div', { class: 'prompt-line' }, plainLabel(prompt.prompt, 200) || '(empty prompt)'),
			element(
				'div',
				{ class: 'quiet prompt-runs' },
				...runs.map((run) => lineSample(run, this.#themes.theme)),
				` in ${formatCount(runs.length)} of ${formatCounted(prompt.groups.length, 'run')}`,
			),
		);
	}

	#select(index: number): void {
		this.#selected = index;
		this.#steps = this.#model.runs.map(() => null);
		this.#list.update(this.#result?.prompts.length ?? 0, index);
		void this.#show();
	}

	async #show(): Promise<void> {
		const prompt = this.#result?.prompts[this.#selected];
		if (prompt === undefined) return;
		this.#asked++;
		const asked = this.#asked;
		if (!this.#detail.hasChildNodes()) fill(this.#detail, element('p', { class: 'quiet' }, 'Loading…'));
		try {
			const result = await this.#model.host.request('prompt', { hash: prompt.hash, steps: this.#steps });
			if (asked === this.#asked) this.#drawDetail(result);
		} catch (error) {
			if (asked !== this.#asked) return;
			this.#clearTexts();
			fill(this.#detail, element('p', { role: 'alert' }, plainLabel(Failure.from(error).toString(), 600)));
		}
	}

	#drawDetail({ prompt, sides }: PromptResult): void {
		this.#clearTexts();
		fill(
			this.#detail,
			element(
				'section',
				{ class: 'prompt-text', aria: { label: 'Prompt' } },
				element('h2', null, 'Prompt'),
				this.#text('Prompt', prompt),
			),
			element('div', { class: 'sides' }, ...sides.map((side, run) => this.#side(side, run))),
		);
	}

	#side({ steps, shown }: PromptSide, run: number): HTMLElement | null {
		if (shown === null) return null;
		const name = plainLabel(this.#model.runs[run]?.name ?? '', 80);
		const rewards = shown.completions.map(({ reward }) => reward).filter((reward) => reward !== null);
		const judged = shown.completions.map(({ correct }) => correct).filter((correct) => correct !== null);
		const facts = [
			shown.split === 'validation' ? 'evaluation' : null,
			rewards.length > 0 ? `mean reward ${formatNumber(rewards.reduce((a, b) => a + b, 0) / rewards.length, 3)}` : null,
			judged.length > 0 ? `${formatPercent(judged.filter((right) => right).length / judged.length, 0)} correct` : null,
		].filter((words) => words !== null);
		const choice = dropdown({
			label: 'Step',
			showLabel: true,
			choices: steps.map((step) => ({ value: String(step), label: formatCount(step) })),
			value: String(shown.step),
			onChange: (value) => {
				this.#steps[run] = Number(value);
				void this.#show();
			},
		});
		return element(
			'section',
			{ class: 'side', aria: { label: name } },
			element(
				'header',
				{ class: 'side-head' },
				element('h3', null, lineSample(run, this.#themes.theme), element('span', null, name)),
				choice.element,
				element('span', { class: 'quiet' }, facts.join(' · ')),
				element(
					'button',
					{
						class: 'link',
						attributes: { type: 'button' },
						aria: { label: `Rollouts from ${name}` },
						on: {
							click: () =>
								void this.#model.host
									.request('openRollouts', { run, split: shown.split, step: shown.step, group: shown.group })
									.catch(() => undefined),
						},
					},
					'Rollouts',
				),
			),
			...shown.completions.map((completion) => this.#completion(completion, name)),
			shown.more > 0 && element('p', { class: 'quiet' }, `and ${formatCounted(shown.more, 'more completion')}`),
		);
	}

	#completion({ index, reward, correct, truncated, text, size }: PromptCompletion, run: string): HTMLElement {
		return element(
			'article',
			{ class: 'completion', aria: { label: `Completion ${index} of ${run}` } },
			element(
				'div',
				{ class: 'completion-head' },
				element('span', { class: 'quiet' }, `#${index}`),
				element('span', null, `reward ${formatNumber(reward, 3)}`),
				correct !== null &&
					element('span', { class: correct ? 'badge right' : 'badge wrong' }, correct ? '✓ Correct' : '✗ Incorrect'),
				truncationBadge(truncated),
			),
			text === ''
				? element('p', { class: 'quiet' }, 'Empty completion.')
				: this.#text(`Completion ${index} of ${run}`, text),
			size > text.length &&
				element(
					'p',
					{ class: 'quiet' },
					`The first ${formatCount(text.length)} of ${formatCounted(size, 'character')}`,
				),
		);
	}

	#text(label: string, text: string): HTMLElement {
		const body = new TextBody({ label, trace: traceCompletion(text, noTags), found: [], behaviors: false });
		this.#texts.push(body);
		return body.element;
	}

	#clearTexts(): void {
		for (const text of this.#texts.splice(0)) text.dispose();
	}
}
