import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import type { Failure } from '../../src/base/failure.ts';
import type { panelRequests } from '../../src/protocol/explorerMessages.ts';
import type { RolloutSplit } from '../../src/protocol/rolloutSplit.ts';
import type {
	GroupContent,
	GroupSummary,
	Place,
	RolloutDetail,
	RunHeader,
	StepContent,
} from '../../src/protocol/rolloutsMessages.ts';
import type { RequestParams, RequestResult } from '../../src/protocol/webviewMessages.ts';
import { Chosen } from './chosen.ts';
import { type FilteredGroup, type Filters, type Found, noFilters } from './filters.ts';
import { type Fold, foldIdentical, shownOfFolds } from './identical.ts';
import { type GroupOrder, type RowOrder, sortRows } from './order.ts';
import type { KeptView, Layout, Mode, TokenView } from './savedState.ts';
import { StepTable } from './stepTable.ts';
import type { MarkKind } from './textMarks.ts';

export type Requests = typeof panelRequests;
/** Sends a request to the panel, like `Bridge.request`. */
export type Ask = <M extends keyof Requests>(
	method: M,
	params: RequestParams<Requests, M>,
	signal?: AbortSignal,
) => Promise<RequestResult<Requests, M>>;

export type Load<T> =
	| { readonly state: 'idle' | 'loading' }
	| { readonly state: 'ready'; readonly value: T }
	| { readonly state: 'failed'; readonly failure: Failure };

/** Describes what changed, so that each view redraws only its part. */
export type Change =
	| 'run'
	| 'steps'
	| 'step'
	| 'groups'
	| 'group'
	| 'completion'
	| 'found'
	| 'view'
	| 'mode'
	| 'chosen'
	| 'marks';

export const idle = { state: 'idle' } as const;
export const loading = { state: 'loading' } as const;

/** Rollouts panel state and values derived from it: settings, open step and group, selection. Sends no requests. */
export class RolloutsState extends Disposable {
	readonly #changed = this.register(new Emitter<ReadonlySet<Change>>());
	readonly onChange = this.#changed.event;
	/** Representatives of the expanded folds in the open group. */
	protected expanded: ReadonlySet<number> = new Set();

	run: RunHeader | null = null;
	protected training = StepTable.empty;
	protected validation = StepTable.empty;
	follow = true;
	/** Number of new steps since following was turned off. */
	unseen = 0;
	step: number | null = null;
	group: number | null = null;
	/** Index of the current completion, which keyboard shortcuts apply to. */
	index: number | null = null;
	stepContent: Load<StepContent> = idle;
	groupContent: Load<GroupContent> = idle;
	filters: Filters = noFilters;
	found: Found | null = null;
	searching = false;
	searchFailure: Failure | null = null;
	rowOrder: RowOrder = 'index';
	groupOrder: GroupOrder = 'file';
	layout: Layout = 'auto';
	tokenView: TokenView = 'off';
	/** Tokens that a link refers to; null if the last opened link did not refer to any. */
	cited: { readonly place: Place; readonly tokens: readonly [number, number] } | null = null;
	mode: Mode = 'group';
	split: RolloutSplit = 'train';
	chosen = Chosen.none;
	/** Completions being compared. */
	pair: readonly [Place | null, Place | null] = [null, null];
	/** Completion being labeled or continued. */
	one: Place | null = null;
	/** Enabled highlights. */
	marks: ReadonlySet<MarkKind> = new Set();
	/** Groups that match the filters, sorted. */
	groups: readonly FilteredGroup[] = [];

	protected restore(saved: KeptView): void {
		const { runFolder: _, marks, pair, ...kept } = saved;
		Object.assign(this, kept, { marks: new Set(marks), pair: [pair[0] ?? null, pair[1] ?? null] });
		if (this.one === null && (this.mode === 'label' || this.mode === 'continue')) this.mode = 'group';
	}

	/** Saved view state, without the text from *Continue from Here*. */
	saved(): KeptView | null {
		if (!this.run) return null;
		const { step, group, index, follow, filters, rowOrder, groupOrder, layout, tokenView, mode, split } = this;
		return {
			runFolder: this.run.folder,
			...{ step, group, index, follow, filters, rowOrder, groupOrder, layout, tokenView, mode, split },
			marks: [...this.marks],
			pair: this.pair.filter((place) => place !== null),
			one: this.one,
		};
	}

	/** Returns a group label such as "step 3, group 1", without the step if the trainer does not record steps. */
	placeText({ step, group }: Pick<Place, 'step' | 'group'>): string {
		return `${this.stepText(step, ', ')}group ${group}`;
	}

	/** Returns "step 3" plus a separator, or an empty string if the trainer does not record steps. */
	stepText(step: number, then = ''): string {
		return this.run?.stepless === true ? '' : `step ${step}${then}`;
	}

	/** Steps in the selected split. */
	get steps(): StepTable {
		return this.split === 'train' ? this.training : this.validation;
	}

	/** Splits with rollouts. */
	get splits(): RolloutSplit[] {
		const splits: RolloutSplit[] = [];
		if (this.training.rows.length > 0) splits.push('train');
		if (this.validation.rows.length > 0) splits.push('validation');
		return splits;
	}

	get live(): boolean {
		const status = this.run?.status;
		return status === 'running' || status === 'starting' || status === 'paused';
	}

	/** Returns the location of a completion, by default the current one. */
	place(index: number | null = this.index): Place | null {
		const { split, step, group } = this;
		return step === null || group === null || index === null ? null : { split, step, group, index };
	}

	toggleChosen(place: Place): void {
		this.chosen = this.chosen.toggled(place);
		this.fire('chosen');
	}

	clearChosen(): void {
		this.chosen = Chosen.none;
		this.fire('chosen');
	}

	setMarks(marks: ReadonlySet<MarkKind>): void {
		this.marks = marks;
		this.fire('marks');
	}

	/** Opens a completion to label its steps or to continue from it. */
	openOne(mode: 'label' | 'continue', place: Place): void {
		this.one = place;
		this.mode = mode;
		this.fire('mode');
	}

	setPair(left: Place | null, right: Place | null): void {
		this.pair = [left, right];
		this.fire('mode');
	}

	setRowOrder(order: RowOrder): void {
		this.rowOrder = order;
		this.fire('group');
	}

	setLayout(layout: Layout): void {
		this.layout = layout;
		this.fire('view');
	}

	setTokenView(view: TokenView): void {
		this.tokenView = view;
		this.fire('view');
	}

	/** Index of the open group among the matching groups, or -1 if the filters hide it. */
	get groupPosition(): number {
		return this.groups.findIndex(({ summary }) => summary.group === this.group);
	}

	/** Summary of the open group, even if it does not match the filters. */
	get summary(): GroupSummary | null {
		if (this.stepContent.state !== 'ready') return null;
		return this.stepContent.value.groups.find(({ group }) => group === this.group) ?? null;
	}

	/** Returns the visible completions: those that match the filters, keeping only the first of any identical ones. */
	rows(): RolloutDetail[] {
		return shownOfFolds(this.folds(), this.expanded);
	}

	/** Returns the matching completions, sorted and grouped by fold. */
	folds(): Fold[] {
		return foldIdentical(this.#passing());
	}

	isExpanded({ rollout }: Fold): boolean {
		return this.expanded.has(rollout.index);
	}

	/** Returns the matching rollouts in the open group, sorted. */
	#passing(): RolloutDetail[] {
		const summary = this.summary;
		if (!summary || this.groupContent.state !== 'ready') return [];
		const filtered = this.groups[this.groupPosition];
		const byIndex = new Map(this.groupContent.value.rollouts.map((rollout) => [rollout.index, rollout]));
		return sortRows(summary, filtered?.rows ?? [], this.rowOrder)
			.map((row) => byIndex.get(summary.index[row] as number))
			.filter((rollout) => rollout !== undefined);
	}

	protected fire(...changes: Change[]): void {
		if (!this.disposed) this.#changed.fire(new Set(changes));
	}
}
