import { Disposable } from '../../src/base/disposable.ts';
import { type Behaviour, behaviourTitles } from '../../src/core/trace/behaviours.ts';
import type { RolloutDetail } from '../../src/protocol/rolloutsMessages.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { formatNumber } from '../lib/format.ts';
import { type CompletionTrace, noTags, traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import { CompletionCard } from './completionCard.ts';
import type { RowOrder } from './order.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import type { Layout, TokenView } from './savedState.ts';
import { highestLevel, scaleEnd } from './tokenScale.ts';

/** Groups whose completions are all shorter are shown as a grid, so that all are seen at once. */
const shortCompletion = 900;
/** Below this width of the pane, in pixels, columns would be too narrow to read. */
const narrowPane = 560;

/** The layout that `auto` stands for. */
export function resolveLayout(layout: Layout, longest: number, width: number): Exclude<Layout, 'auto'> {
	if (layout !== 'auto') return layout;
	if (width < narrowPane) return 'stacked';
	return longest <= shortCompletion ? 'grid' : 'columns';
}

/** The open group: prompt and expected answer on top, its completions side by side. */
export class GroupView extends Disposable {
	readonly element: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #say: (text: string) => void;
	readonly #title = element('h2', { class: 'group-title' });
	readonly #numbers = element('p', { class: 'group-numbers' });
	readonly #prompt = element('div', { class: 'prompt' });
	readonly #legend = element('div', { class: 'legend', aria: { label: 'Legend' }, role: 'group' });
	readonly #head: HTMLElement;
	readonly #tools: HTMLElement;
	readonly #strip = element('div', { class: 'cards' });
	readonly #order;
	readonly #layoutChoice;
	readonly #tokenChoice;
	/** Cards are built when they come near the view. */
	readonly #near = new IntersectionObserver((entries) => this.#buildNear(entries), { scrollMargin: '600px' });
	#cards: CompletionCard[] = [];
	#promptBody: TextBody | null = null;
	#shown = '';
	#promptShown = '';
	#behaviours = new Map<number, ReadonlyMap<Behaviour, number>>();
	#width = 1000;

	constructor(model: RolloutsModel, say: (text: string) => void) {
		super();
		this.#model = model;
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
			choices: [
				{ value: 'off', label: 'Off' },
				{ value: 'logprob', label: 'Log-probability' },
				{ value: 'entropy', label: 'Entropy' },
			],
			value: model.tokenView,
			onChange: (value) => model.setTokenView(value as TokenView),
		});
		this.#head = element(
			'div',
			{ class: 'group-head' },
			element('div', { class: 'group-line' }, this.#title, this.#numbers),
			this.#prompt,
		);
		this.#tools = element(
			'div',
			{ class: 'group-tools' },
			this.#order.element,
			this.#layoutChoice.element,
			this.#tokenChoice.element,
			this.#legend,
		);
		this.element = element('section', { class: 'group-view', aria: { label: 'Group' } });
		const resize = new ResizeObserver(([entry]) => {
			this.#width = entry?.contentRect.width ?? this.#width;
			this.#applyLayout();
		});
		resize.observe(this.element);
		this.register({ dispose: () => resize.disconnect() });
		this.register({ dispose: () => this.#clearCards() });
	}

	/** Draws what the model holds; the same group with the same view is left as it is. */
	update(): void {
		const { stepContent, groupContent } = this.#model;
		const loading = stepContent.state === 'loading' || groupContent.state === 'loading';
		this.element.classList.toggle('loading', loading);
		this.element.setAttribute('aria-busy', String(loading));
		if (stepContent.state === 'failed') {
			const { failure } = stepContent;
			this.#showEmpty('failed', () =>
				emptyState({
					title: failure.reason === 'missing' ? 'The rollouts of this step are gone' : 'This step cannot be shown',
					text: failure.toString(),
					actions: [{ label: 'Try Again', run: () => this.#model.retry() }],
				}),
			);
			return;
		}
		if (groupContent.state === 'failed') {
			this.#showEmpty('failed', () =>
				emptyState({
					title: 'This group cannot be shown',
					text: groupContent.failure.toString(),
					actions: [{ label: 'Try Again', run: () => this.#model.retry() }],
				}),
			);
			return;
		}
		if (stepContent.state === 'ready' && stepContent.value.groups.length === 0) {
			this.#showEmpty('empty-step', () =>
				emptyState({
					title: 'This step holds no rollouts',
					text: 'Its file has no line that could be read.',
					actions: [],
				}),
			);
			return;
		}
		if (stepContent.state === 'ready' && this.#model.groups.length === 0) {
			this.#showEmpty('filtered', () =>
				emptyState({
					title: 'No rollout of this step passes the filters',
					text: 'Change or clear the filters, or choose another step.',
					actions: [{ label: 'Clear Filters', run: () => this.#model.clearFilters() }],
				}),
			);
			return;
		}
		if (groupContent.state !== 'ready') return;
		this.#drawHead();
		this.#drawCards();
	}

	/** Marks the chosen completion and brings it into view; `focus` moves the keyboard there. */
	select(focus: boolean): void {
		const { index } = this.#model;
		for (const card of this.#cards) {
			const selected = card.rollout.index === index;
			card.setSelected(selected);
			if (!selected || !focus) continue;
			card.build();
			card.element.focus({ preventScroll: true });
			card.element.scrollIntoView({ block: 'nearest', inline: 'nearest' });
		}
	}

	/** Takes over choices that keys made. */
	syncChoices(): void {
		this.#order.setValue(this.#model.rowOrder);
		this.#layoutChoice.setValue(this.#model.layout);
		this.#tokenChoice.setValue(this.#model.tokenView);
	}

	#showEmpty(key: string, make: () => HTMLElement): void {
		if (this.#shown === key) return;
		this.#clearCards();
		this.#shown = key;
		fill(this.element, make());
	}

	#drawHead(): void {
		const { groupContent, summary, groupPosition, groups } = this.#model;
		if (groupContent.state !== 'ready' || !summary) return;
		const { group, prompt, answer } = groupContent.value;
		const position = groupPosition === -1 ? '' : ` (${groupPosition + 1} of ${groups.length})`;
		setText(this.#title, `Group ${group}${position}`);
		const judged = summary.correct.filter((correct) => correct !== null);
		const right = judged.filter(Boolean).length;
		fill(
			this.#numbers,
			element('span', { title: 'Mean of the total rewards' }, `mean ${formatNumber(summary.mean, 3)}`),
			element(
				'span',
				{ title: 'Sample standard deviation of the rewards (n - 1)' },
				`std ${formatNumber(summary.std, 3)}`,
			),
			judged.length > 0 && element('span', null, `${right} of ${judged.length} correct`),
			summary.dead &&
				element(
					'span',
					{ class: 'badge dead', title: 'All rewards are equal: every advantage is 0 and the group teaches nothing' },
					'Dead group',
				),
		);
		if (this.#promptShown === `${group}\n${answer}\n${prompt}`) return;
		this.#promptShown = `${group}\n${answer}\n${prompt}`;
		this.#promptBody?.dispose();
		this.#promptBody = new TextBody({
			label: 'Prompt',
			trace: traceCompletion(prompt, noTags),
			found: [],
			behaviours: false,
		});
		const copy = button({
			label: 'Copy the prompt',
			icon: 'copy',
			appearance: 'icon',
			onClick: () => this.copy(this.#model.index ?? groupContent.value.rollouts[0]?.index ?? 0, 'prompt'),
		});
		fill(
			this.#prompt,
			element(
				'div',
				{ class: 'prompt-row' },
				element('span', { class: 'prompt-name' }, 'Prompt'),
				this.#promptBody.element,
				copy.element,
			),
			element(
				'div',
				{ class: 'prompt-row' },
				element('span', { class: 'prompt-name' }, 'Expected'),
				element('span', { class: 'expected' }, answer === null ? 'not recorded' : plainLabel(answer, 2000)),
			),
		);
	}

	#drawCards(): void {
		const model = this.#model;
		const rows = model.rows();
		const { step, group, tokenView, filters } = model;
		const key = [step, group, tokenView, filters.text, ...rows.map((row) => row.index)].join('/');
		if (key === this.#shown) {
			this.select(false);
			return;
		}
		const focused = this.#strip.contains(document.activeElement);
		this.#clearCards();
		this.#shown = key;
		if (!this.#head.isConnected) fill(this.element, this.#head, this.#tools, this.#strip);
		const hidden = (model.summary?.index.length ?? 0) - rows.length;
		const largestAdvantage = rows.reduce((largest, row) => Math.max(largest, Math.abs(row.advantage ?? 0)), 0);
		const run = model.run;
		const context = {
			tags: { think: run?.think ?? null, answer: run?.answer ?? null },
			weights: new Map(run?.weights ?? []),
			largestAdvantage,
			search: filters.text,
			tokenView,
			behaviours: true,
			loadCompletion: (index: number) => model.loadCompletion(index),
			loadTokens: (index: number) => model.loadTokens(index),
			copy: (index: number, part: 'completion' | 'json') => this.copy(index, part),
			openText: (index: number) => this.openText(index),
			select: (index: number) => model.selectCompletion(index),
			traced: (index: number, trace: CompletionTrace) => this.#traced(index, trace),
		};
		this.#cards = rows.map((rollout: RolloutDetail) => new CompletionCard(rollout, context));
		fill(
			this.#strip,
			...this.#cards.map((card) => card.element),
			hidden > 0 &&
				element(
					'p',
					{ class: 'hidden-note' },
					`${hidden} more ${hidden === 1 ? 'completion is' : 'completions are'} hidden by the filters. `,
					button({ label: 'Clear Filters', onClick: () => model.clearFilters() }).element,
				),
		);
		this.#strip.scrollTo(0, 0);
		for (const card of this.#cards) this.#near.observe(card.element);
		this.#applyLayout();
		this.#drawLegend();
		this.select(focused);
	}

	#buildNear(entries: readonly IntersectionObserverEntry[]): void {
		const near = new Set(entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target));
		for (const card of this.#cards) {
			if (!near.has(card.element)) continue;
			this.#near.unobserve(card.element);
			card.build();
		}
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
		this.#model.openText(index).catch((error: unknown) => this.#say(String(error)));
	}

	copy(index: number, part: 'completion' | 'prompt' | 'json'): void {
		const named = { completion: `Completion ${index}`, prompt: 'Prompt', json: `Completion ${index} as JSON` }[part];
		this.#model.copy(index, part).then(
			() => this.#say(`${named} copied.`),
			(error: unknown) => this.#say(String(error)),
		);
	}

	#traced(index: number, trace: CompletionTrace): void {
		this.#behaviours.set(index, trace.behaviours);
		this.#drawLegend();
	}

	#drawLegend(): void {
		const { tokenView } = this.#model;
		if (tokenView !== 'off') {
			const swatches = Array.from({ length: highestLevel + 1 }, (_, i) =>
				element('span', { class: `swatch level-${i}`, aria: { hidden: true } }),
			);
			fill(this.#legend, element('span', { class: 'legend-item' }, '0 ', ...swatches, ` ${scaleEnd(tokenView)}`));
			this.#legend.hidden = false;
			return;
		}
		const totals = new Map<Behaviour, number>();
		for (const counts of this.#behaviours.values()) {
			for (const [behaviour, count] of counts) totals.set(behaviour, (totals.get(behaviour) ?? 0) + count);
		}
		fill(
			this.#legend,
			...[...totals].map(([behaviour, count]) =>
				element(
					'span',
					{ class: 'legend-item', title: behaviourTitles[behaviour] },
					element('span', { class: `m-behaviour-${behaviour}` }, behaviourTitles[behaviour].split(':')[0]),
					` ${count}`,
				),
			),
		);
		this.#legend.hidden = totals.size === 0;
	}

	#clearCards(): void {
		this.#near.disconnect();
		for (const card of this.#cards) card.dispose();
		this.#cards = [];
		this.#behaviours = new Map();
		this.#shown = '';
	}
}
