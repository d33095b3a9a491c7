import { Failure } from '../../src/base/failure.ts';
import type { RolloutSplit } from '../../src/protocol/rolloutSplit.ts';
import type { RolloutsEvent } from '../../src/protocol/rolloutsMessages.ts';
import type { RequestParams, RequestResult } from '../../src/protocol/webviewMessages.ts';
import { pairToCompare } from './chosen.ts';
import { type Filters, filterGroups, foundFromColumns, noFilters } from './filters.ts';
import { type Fold, foldOf } from './identical.ts';
import { type GroupOrder, sortGroups, widestGroup } from './order.ts';
import { type Ask, idle, loading, type Requests, RolloutsState } from './rolloutsState.ts';
import type { KeptView, Mode } from './savedState.ts';
import { StepTable } from './stepTable.ts';

/**
 * Loads steps, groups and searches, and handles navigation. Selecting a group or completion stops following new steps,
 * so the view does not jump.
 */
export class RolloutsModel extends RolloutsState {
	readonly #ask: Ask;
	readonly #needSnapshot: () => void;
	#sequence = 0;
	#stepAbort: AbortController | null = null;
	#groupAbort: AbortController | null = null;
	#searchAbort: AbortController | null = null;
	/** Completion to select after its group has loaded. */
	#wanted: number | null = null;

	constructor(ask: Ask, needSnapshot: () => void, saved?: KeptView) {
		super();
		this.#ask = ask;
		this.#needSnapshot = needSnapshot;
		if (saved) this.restore(saved);
	}

	/** Handles an event from the panel. */
	receive(event: RolloutsEvent): void {
		if (event.type === 'reveal') {
			const { step, group, split = 'train', index = null, tokens = null } = event;
			this.#cite(
				group === null || index === null || tokens === null ? null : { place: { split, step, group, index }, tokens },
			);
			this.show({ split, step, group, index });
			return;
		}
		if (event.type === 'snapshot') {
			this.#sequence = event.sequence;
			this.run = event.run;
			this.training = StepTable.of(event.steps);
			this.validation = StepTable.without(event.run.validation ?? []);
			this.unseen = 0;
			// A resumed run may have replaced files, so discard everything loaded so far.
			this.stepContent = idle;
			this.fire('run', 'steps');
			this.#settle();
			return;
		}
		if (event.sequence !== this.#sequence + 1) {
			this.#needSnapshot();
			return;
		}
		this.#sequence = event.sequence;
		const before = this.steps.rows.length;
		this.run = event.run;
		this.training = this.training.with(event.changed);
		this.validation = StepTable.without(event.run.validation ?? []);
		const added = this.steps.rows.length - before;
		if (!(this.follow && this.live)) this.unseen += added;
		this.fire('run', 'steps');
		if (added > 0) this.#settle();
	}

	/**
	 * Updates the selection after the step list has changed: follows the newest step, keeps the current one, or opens the
	 * nearest one.
	 */
	#settle(): void {
		const { splits } = this;
		if (splits[0] !== undefined && !splits.includes(this.split)) this.split = splits[0];
		const { newest } = this.steps;
		if (newest === null) {
			this.#open(null, null);
			return;
		}
		if (this.step === null || (this.follow && this.live)) {
			if (this.step !== newest || this.stepContent.state === 'idle') this.#open(newest, null);
		} else if (this.stepContent.state === 'idle') this.#open(this.step, this.group);
	}

	selectStep(step: number, group: number | null = null): void {
		if (step !== this.steps.newest || group !== null) this.#stay();
		if (step !== this.step || group !== null || this.stepContent.state === 'failed') this.#open(step, group);
	}

	setSplit(split: RolloutSplit): void {
		if (split === this.split) return;
		this.split = split;
		this.step = null;
		this.stepContent = idle;
		this.fire('steps', 'step');
		this.#settle();
	}

	/** Opens a group in any step, and optionally one of its completions. */
	show(place: { split: RolloutSplit; step: number; group: number | null; index: number | null }): void {
		this.#wanted = place.index;
		if (place.split !== this.split) {
			this.split = place.split;
			this.stepContent = idle;
			this.fire('steps');
		}
		this.setMode('group');
		this.selectStep(place.step, place.group);
	}

	/** Shows the tokens of a completion and highlights those that a link refers to. */
	#cite(cited: RolloutsState['cited']): void {
		this.cited = cited;
		if (cited !== null && this.tokenView === 'off') this.tokenView = 'logprob';
		this.fire('view');
	}

	setMode(mode: Mode): void {
		if (mode === 'compare' && this.mode !== 'compare') {
			const rollouts = this.groupContent.state === 'ready' ? this.groupContent.value.rollouts : [];
			const pair = pairToCompare(this.chosen.list, this.place(), rollouts);
			if (pair[0] !== null || this.pair[0] === null) this.pair = pair;
		}
		if (mode === this.mode) return;
		this.mode = mode;
		this.fire('mode');
	}

	/** Moves by a number of steps. Positive moves toward newer steps. */
	moveStep(by: number): void {
		if (this.step === null) return;
		const at = this.steps.nearest(this.step);
		const row = this.steps.rows[Math.max(0, Math.min(this.steps.rows.length - 1, at - by))];
		if (row && row.step !== this.step) this.selectStep(row.step);
	}

	selectGroup(group: number): void {
		this.#stay();
		if (group !== this.group || this.groupContent.state === 'failed') this.#openGroup(group);
	}

	moveGroup(by: number): void {
		const at = this.groupPosition;
		if (this.groups.length === 0) return;
		const next = at === -1 ? 0 : Math.max(0, Math.min(this.groups.length - 1, at + by));
		const group = this.groups[next]?.summary.group;
		if (group !== undefined && group !== this.group) this.selectGroup(group);
	}

	/** Sorts groups by reward spread and opens the first one. */
	showWidestSpread(): void {
		this.setGroupOrder('spread');
		const first = this.groups[0]?.summary.group;
		if (first !== undefined) this.selectGroup(first);
	}

	selectCompletion(index: number): void {
		this.#stay();
		if (this.index === index) return;
		this.index = index;
		this.fire('completion');
	}

	moveCompletion(by: number): void {
		const rows = this.rows();
		if (rows.length === 0) return;
		const at = rows.findIndex((row) => row.index === this.index);
		const next = rows[at === -1 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by))];
		if (next) this.selectCompletion(next.index);
	}

	setFollow(follow: boolean): void {
		this.follow = follow;
		if (follow) this.unseen = 0;
		this.fire('steps');
		if (follow && this.steps.newest !== null && this.step !== this.steps.newest) this.#open(this.steps.newest, null);
	}

	setFilters(filters: Filters): void {
		const text = filters.text !== this.filters.text;
		this.filters = filters;
		if (text) void this.#search();
		this.#filter();
		this.fire('groups', 'group');
		this.#leaveHidden();
	}

	clearFilters(): void {
		this.setFilters(noFilters);
	}

	setGroupOrder(order: GroupOrder): void {
		this.groupOrder = order;
		this.#filter();
		this.fire('groups');
	}

	/** Reloads the step after an error. */
	retry(): void {
		if (this.step !== null) this.#open(this.step, this.group);
	}

	/** Expands or collapses a completion's fold. Returns the fold, or null if the completion is unique. */
	toggleFold(index: number | null = this.index): Fold | null {
		const fold = foldOf(this.folds(), index);
		if (fold === null) return null;
		this.#stay();
		const expanded = new Set(this.expanded);
		if (!expanded.delete(fold.rollout.index)) expanded.add(fold.rollout.index);
		this.expanded = expanded;
		if (!this.isExpanded(fold) && foldOf([fold], this.index)) this.index = fold.rollout.index;
		this.fire('group', 'completion');
		return fold;
	}

	/** Sends a request to the panel. */
	ask<M extends keyof Requests>(
		method: M,
		params: RequestParams<Requests, M>,
		signal?: AbortSignal,
	): Promise<RequestResult<Requests, M>> {
		return this.#ask(method, params, signal);
	}

	#stay(): void {
		if (!this.follow) return;
		this.follow = false;
		this.unseen = 0;
		this.fire('steps');
	}

	#open(step: number | null, group: number | null): void {
		const sameStep = step === this.step && this.stepContent.state === 'ready';
		this.#stepAbort?.abort();
		this.step = step;
		if (sameStep) {
			this.#openGroup(group ?? this.group);
			return;
		}
		this.group = group;
		this.expanded = new Set();
		this.groupContent = idle;
		this.found = null;
		this.groups = [];
		this.stepContent = step === null ? idle : loading;
		this.fire('step', 'groups', 'group');
		if (step !== null) void this.#loadStep(step);
	}

	async #loadStep(step: number): Promise<void> {
		const abort = new AbortController();
		this.#stepAbort = abort;
		try {
			const value = await this.#ask('loadStep', { split: this.split, step }, abort.signal);
			if (abort.signal.aborted) return;
			this.stepContent = { state: 'ready', value };
		} catch (error) {
			if (abort.signal.aborted) return;
			this.stepContent = { state: 'failed', failure: Failure.from(error) };
		}
		void this.#search();
		this.#filter();
		const wanted = this.summary ? this.group : widestGroup(this.groups);
		this.fire('step', 'groups');
		this.#openGroup(wanted);
	}

	#openGroup(group: number | null): void {
		this.#groupAbort?.abort();
		if (group !== this.group) {
			this.index = null;
			this.expanded = new Set();
		}
		this.group = group;
		this.groupContent = group === null || this.stepContent.state !== 'ready' ? idle : loading;
		this.fire('group');
		if (this.groupContent.state === 'loading' && group !== null) void this.#loadGroup(group);
	}

	async #loadGroup(group: number): Promise<void> {
		const abort = new AbortController();
		this.#groupAbort = abort;
		try {
			const place = { split: this.split, step: this.step as number, group };
			const value = await this.#ask('loadGroup', place, abort.signal);
			if (abort.signal.aborted) return;
			this.groupContent = { state: 'ready', value };
		} catch (error) {
			if (abort.signal.aborted) return;
			this.groupContent = { state: 'failed', failure: Failure.from(error) };
		}
		this.index = this.#wanted ?? this.index;
		this.#wanted = null;
		// Show a completion that a link or the saved state refers to, even if it is folded.
		const fold = foldOf(this.folds(), this.index);
		if (fold && fold.rollout.index !== this.index) this.expanded = new Set([...this.expanded, fold.rollout.index]);
		if (!this.rows().some((row) => row.index === this.index)) this.index = this.rows()[0]?.index ?? null;
		this.fire('group', 'completion');
	}

	async #search(): Promise<void> {
		this.#searchAbort?.abort();
		this.found = null;
		this.searchFailure = null;
		this.searching = false;
		if (this.filters.text === '' || this.stepContent.state !== 'ready') return;
		const abort = new AbortController();
		this.#searchAbort = abort;
		this.searching = true;
		this.fire('found');
		try {
			const { step } = this.stepContent.value;
			const columns = await this.#ask('search', { split: this.split, step, text: this.filters.text }, abort.signal);
			if (abort.signal.aborted) return;
			this.found = foundFromColumns(columns);
		} catch (error) {
			if (abort.signal.aborted) return;
			this.searchFailure = Failure.from(error);
		}
		this.searching = false;
		this.#filter();
		this.fire('found', 'groups', 'group');
		this.#leaveHidden();
	}

	/** Opens the first matching group if the filters hide the current one. */
	#leaveHidden(): void {
		const first = this.groups[0];
		if (first && this.groupPosition === -1) this.#openGroup(first.summary.group);
		else if (!this.rows().some((row) => row.index === this.index)) this.index = this.rows()[0]?.index ?? null;
	}

	#filter(): void {
		const groups = this.stepContent.state === 'ready' ? this.stepContent.value.groups : [];
		this.groups = sortGroups(filterGroups(groups, this.filters, this.found), this.groupOrder);
	}
}
