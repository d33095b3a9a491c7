import { Disposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted, formatNumber } from '../../src/base/format.ts';
import { tokenValues } from '../../src/protocol/rolloutsMessages.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill, setText, setTitle } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { noTags, traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import { type CopiedPart, cardContext, copyPart } from './cardContext.ts';
import { CardStrip } from './cardStrip.ts';
import type { FeedbackModel } from './feedbackModel.ts';
import { foldOf } from './identical.ts';
import { MarkLegend } from './markLegend.ts';
import type { RowOrder } from './order.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import type { Layout, TokenView } from './savedState.ts';
import { findingCounts, type MarkKind } from './textMarks.ts';
import { tokenLegend } from './tokenLegend.ts';
import { tokenViewNames } from './tokenScale.ts';
import { TurnsBody } from './turnsBody.ts';

/** Length limit in characters; groups with only shorter completions are shown as a grid. */
const shortCompletion = 900;
/** Minimum pane width for showing columns, in pixels. */
const narrowPane = 560;

/** Resolves the `auto` layout to a specific one. */
export function resolveLayout(layout: Layout, longest: number, width: number): Exclude<Layout, 'auto'> {
	if (layout !== 'auto') return layout;
	if (width < narrowPane) return 'stacked';
	return longest <= shortCompletion ? 'grid' : 'columns';
}

/** The open group, with prompt, expected answer, and completions. */
export class GroupView extends Disposable {
	readonly element: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #feedback: FeedbackModel;
	readonly #say: (text: string) => void;
	readonly #title = element('h2', { class: 'group-title' });
	readonly #numbers = element('p', { class: 'group-numbers' });
	/** Number of rated completions, or why a rating was not saved. */
	readonly #rated = element('p', { class: 'group-rated quiet', role: 'status' });
	readonly #prompt = element('div', { class: 'prompt' });
	readonly #scale = element('div', { class: 'legend', aria: { label: 'Token color scale' }, role: 'group' });
	readonly #legend: MarkLegend;
	readonly #head: HTMLElement;
	readonly #tools: HTMLElement;
	readonly #strip = this.register(new CardStrip());
	readonly #order;
	readonly #layoutChoice;
	readonly #tokenChoice;
	#promptBody: TextBody | TurnsBody | null = null;
	#shown = '';
	#promptShown = '';
	/** Number of highlights of each kind, keyed by completion. */
	#counts = new Map<number, ReadonlyMap<MarkKind, number>>();
	#width = 1000;
	#largestAdvantage = 0;
	#tokenViews = '';

	constructor(model: RolloutsModel, feedback: FeedbackModel, say: (text: string) => void) {
		super();
		this.#model = model;
		this.#feedback = feedback;
		this.#say = say;
		this.#order = dropdown({
			label: 'Sort',
			showLabel: true,
			choices: [
				{ value: 'index', label: 'Index' },
				{ value: 'reward', label: 'Reward' },
				{ value: 'advantage', label: 'Advantage' },
				{ value: 'length', label: 'Length' },
			],
			value: model.rowOrder,
			onChange: (value) => model.setRowOrder(value as RowOrder),
		});
		this.#layoutChoice = dropdown({
			label: 'Layout',
			showLabel: true,
			choices: [
				{ value: 'auto', label: 'Automatic' },
				{ value: 'grid', label: 'Grid' },
				{ value: 'columns', label: 'Columns' },
				{ value: 'stacked', label: 'Stacked' },
			],
			value: model.layout,
			onChange: (value) => model.setLayout(value as Layout),
		});
		this.#tokenChoice = dropdown({
			label: 'Tokens',
			showLabel: true,
			choices: [{ value: 'off', label: tokenViewNames.off }],
			value: 'off',
			onChange: (value) => model.setTokenView(value as TokenView),
		});
		this.#legend = this.register(new MarkLegend(model));
		this.#head = element(
			'div',
			{ class: 'group-head' },
			element('div', { class: 'group-line' }, this.#title, this.#numbers),
			this.#rated,
			this.#prompt,
		);
		this.#tools = element(
			'div',
			{ class: 'group-tools' },
			this.#order.element,
			this.#layoutChoice.element,
			this.#tokenChoice.element,
			this.#scale,
			this.#legend.element,
		);
		this.element = element('section', { class: 'group-view', aria: { label: 'Group' } });
		const resize = new ResizeObserver(([entry]) => {
			this.#width = entry?.contentRect.width ?? this.#width;
			this.#applyLayout();
		});
		resize.observe(this.element);
		this.register(feedback.onChange(() => this.#showRatings()));
		this.register({ dispose: () => resize.disconnect() });
	}

	/** Renders the group in the model unless it is already shown with the same settings. */
	update(): void {
		const { stepContent, groupContent } = this.#model;
		const loading = stepContent.state === 'loading' || groupContent.state === 'loading';
		this.element.classList.toggle('loading', loading);
		this.element.setAttribute('aria-busy', String(loading));
		if (stepContent.state === 'failed') {
			const { failure } = stepContent;
			this.#showEmpty('failed', () =>
				emptyState({
					title: failure.reason === 'missing' ? 'The rollouts for this step were deleted' : 'Cannot show this step',
					text: failure.toString(),
					actions: [{ label: 'Retry', run: () => this.#model.retry() }],
				}),
			);
			return;
		}
		if (groupContent.state === 'failed') {
			this.#showEmpty('failed', () =>
				emptyState({
					title: 'Cannot show this group',
					text: groupContent.failure.toString(),
					actions: [{ label: 'Retry', run: () => this.#model.retry() }],
				}),
			);
			return;
		}
		if (stepContent.state === 'ready' && stepContent.value.groups.length === 0) {
			this.#showEmpty('empty-step', () =>
				emptyState({
					title: 'No rollouts in this step',
					text: 'The file for this step has no readable lines.',
					actions: [],
				}),
			);
			return;
		}
		if (stepContent.state === 'ready' && this.#model.groups.length === 0) {
			this.#showEmpty('filtered', () =>
				emptyState({
					title: 'No rollouts match the filters',
					text: 'Change or clear the filters, or open another step.',
					actions: [{ label: 'Clear Filters', run: () => this.#model.clearFilters() }],
				}),
			);
			return;
		}
		if (groupContent.state !== 'ready') return;
		this.#drawHead();
		this.#drawCards();
	}

	/** Marks the current completion; with `focus`, also scrolls to it and focuses it. */
	select(focus: boolean): void {
		this.#strip.select(this.#model.index, focus);
	}

	updateChosen(): void {
		this.#strip.updateChosen();
	}

	/** Updates the controls after a setting is changed with the keyboard. */
	syncChoices(): void {
		this.#order.setValue(this.#model.rowOrder);
		this.#layoutChoice.setValue(this.#model.layout);
		this.#offerTokens();
		this.#legend.update(this.#counts.values());
	}

	#showEmpty(key: string, make: () => HTMLElement): void {
		if (this.#shown === key) return;
		this.#clear();
		this.#shown = key;
		fill(this.element, make());
	}

	#drawHead(): void {
		const { groupContent, summary, groupPosition, groups } = this.#model;
		if (groupContent.state !== 'ready' || !summary) return;
		const { group, prompt, promptTurns, answer } = groupContent.value;
		const position = groupPosition === -1 ? '' : ` (${groupPosition + 1} of ${groups.length})`;
		setText(this.#title, `Group ${group}${position}`);
		const judged = summary.correct.filter((correct) => correct !== null);
		const right = judged.filter(Boolean).length;
		fill(
			this.#numbers,
			element('span', { title: 'Mean total reward' }, `mean ${formatNumber(summary.mean, 3)}`),
			element('span', { title: 'Sample standard deviation of rewards (n - 1)' }, `SD ${formatNumber(summary.std, 3)}`),
			judged.length > 0 && element('span', null, `${right} of ${judged.length} correct`),
			summary.dead &&
				element(
					'span',
					{ class: 'badge dead', title: 'All rewards are equal, so all advantages are 0 and there is no gradient' },
					'Dead group',
				),
		);
		if (this.#promptShown === `${group}\n${answer}\n${prompt}`) return;
		this.#promptShown = `${group}\n${answer}\n${prompt}`;
		this.#promptBody?.dispose();
		this.#promptBody = promptTurns
			? new TurnsBody({ label: 'Prompt', content: { turns: promptTurns, parents: null }, tags: noTags, search: '' })
			: new TextBody({ label: 'Prompt', trace: traceCompletion(prompt, noTags), found: [], behaviors: false });
		const copy = button({
			label: 'Copy prompt',
			icon: 'copy',
			appearance: 'icon',
			onClick: () => this.copy(this.#model.index ?? groupContent.value.rollouts[0]?.index ?? null, 'prompt'),
		});
		const search = button({
			label: 'Search on this problem',
			title: 'Run a search on this problem and view its tree',
			icon: 'branch',
			appearance: 'icon',
			onClick: () => this.#searchProblem(this.#model.index ?? groupContent.value.rollouts[0]?.index ?? null),
		});
		fill(
			this.#prompt,
			element(
				'div',
				{ class: 'prompt-row' },
				element('span', { class: 'prompt-name' }, 'Prompt'),
				prompt === '' && !promptTurns
					? element('span', { class: 'quiet' }, this.#model.run?.trainer ? 'not recorded' : 'empty')
					: this.#promptBody.element,
				copy.element,
				(prompt !== '' || promptTurns) && search.element,
			),
			element(
				'div',
				{ class: 'prompt-row' },
				element('span', { class: 'prompt-name' }, 'Expected'),
				answer === null
					? element('span', { class: 'quiet' }, 'not recorded')
					: element('span', { class: 'expected' }, plainLabel(answer, 2000)),
			),
		);
	}

	#drawCards(): void {
		const model = this.#model;
		const rows = model.rows();
		const folds = model.folds();
		const { step, group, tokenView, filters, cited } = model;
		const key = [step, group, tokenView, filters.text, JSON.stringify(cited), ...rows.map((row) => row.index)].join(
			'/',
		);
		if (key === this.#shown) {
			this.select(false);
			return;
		}
		const focused = this.#strip.element.contains(document.activeElement);
		const onFold = document.activeElement?.classList.contains('fold') ?? false;
		this.#clear();
		this.#shown = key;
		if (!this.#head.isConnected) fill(this.element, this.#head, this.#tools, this.#strip.element);
		const passing = folds.reduce((sum, { others }) => sum + 1 + others.length, 0);
		const hidden = (model.summary?.index.length ?? 0) - passing;
		const largestAdvantage = rows.reduce((largest, row) => Math.max(largest, Math.abs(row.advantage ?? 0)), 0);
		this.#largestAdvantage = largestAdvantage;
		const place = { split: model.split, step: step as number, group: group as number };
		void this.#feedback.open(place);
		const context = cardContext(
			model,
			{
				...place,
				ratings: this.#feedback,
				...{ largestAdvantage, search: filters.text, tokenView },
				select: (index) => model.selectCompletion(index),
				fold: (index) => {
					const fold = foldOf(folds, index);
					return fold && { count: 1 + fold.others.length, first: fold.rollout.index, expanded: model.isExpanded(fold) };
				},
				toggleFold: (index) => model.toggleFold(index),
				traced: (index, trace) =>
					this.#count(
						index,
						[...trace.behaviors].map(([one, n]) => [`behavior-${one}`, n]),
					),
				found: (index, findings) => this.#count(index, findingCounts(findings)),
			},
			this.#say,
		);
		this.#strip.show(
			rows,
			context,
			hidden > 0 &&
				element(
					'p',
					{ class: 'hidden-note' },
					`${formatCounted(hidden, 'more completion')} hidden by filters. `,
					button({ label: 'Clear Filters', onClick: () => model.clearFilters() }).element,
				),
		);
		this.#applyLayout();
		this.#showRatings();
		this.#offerTokens();
		this.#legend.update([]);
		this.select(focused);
		// Keep focus on the fold button after a key press.
		if (focused && onFold) this.#strip.element.querySelector<HTMLElement>('.card.selected .fold')?.focus();
	}

	#showRatings(): void {
		const { failure, rated } = this.#feedback;
		const all = this.#model.summary?.index.length ?? 0;
		const text = rated === 0 ? '' : `You have rated ${formatCount(rated)} of ${formatCounted(all, 'completion')}.`;
		setText(this.#rated, failure === null ? text : `Not saved: ${failure}`);
		this.#rated.classList.toggle('problem', failure !== null);
		this.#strip.updateRatings();
	}

	/** Shows only the token values that were recorded. */
	#offerTokens(): void {
		const { groupContent, tokenView } = this.#model;
		const rollouts = groupContent.state === 'ready' ? groupContent.value.rollouts : [];
		const recorded = new Set(rollouts.flatMap((rollout) => rollout.tokenValues ?? []));
		const views = tokenValues.filter((view) => recorded.has(view) || view === tokenView);
		const key = `${views.join()}/${tokenView}`;
		if (key !== this.#tokenViews) {
			this.#tokenViews = key;
			const choices = ['off' as const, ...views].map((value) => ({ value, label: tokenViewNames[value] }));
			this.#tokenChoice.setChoices(choices, tokenView);
		}
		this.#tokenChoice.setDisabled(views.length === 0);
		setTitle(this.#tokenChoice.element, views.length === 0 ? 'Tokens were not recorded for these completions' : '');
		const shown = tokenView !== 'off' && recorded.has(tokenView);
		this.#scale.hidden = !shown;
		this.#legend.element.hidden = shown;
		const observed = rollouts.some((rollout) => (rollout.observed ?? 0) > 0);
		if (shown) fill(this.#scale, tokenLegend(tokenView, this.#largestAdvantage, observed));
	}

	#applyLayout(): void {
		const { groupContent, layout } = this.#model;
		const rollouts = groupContent.state === 'ready' ? groupContent.value.rollouts : [];
		const longest = rollouts.reduce((size, rollout) => Math.max(size, rollout.size), 0);
		this.element.dataset.layout = resolveLayout(layout, longest, this.#width);
	}

	applyView(): void {
		this.#applyLayout();
		this.update();
	}

	openText(index: number): void {
		const place = this.#model.place(index);
		if (place) this.#model.ask('openText', place).catch((error: unknown) => this.#say(String(error)));
	}

	#searchProblem(index: number | null): void {
		const place = this.#model.place(index);
		if (place) this.#model.ask('searchProblem', place).catch((error: unknown) => this.#say(String(error)));
	}

	copy(index: number | null, part: CopiedPart): void {
		const place = this.#model.place(index);
		if (place) copyPart(this.#model, place, part, this.#say);
	}

	#count(index: number, counts: readonly (readonly [MarkKind, number])[]): void {
		this.#counts.set(index, new Map([...(this.#counts.get(index) ?? []), ...counts]));
		this.#legend.update(this.#counts.values());
	}

	#clear(): void {
		this.#strip.clear();
		this.#counts = new Map();
		this.#shown = '';
	}
}
