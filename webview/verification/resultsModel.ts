import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import type {
	ComparedSummary,
	ResultCommand,
	ResultContent,
	ResultEvent,
	ResultPlace,
	ResultStatus,
	ResultsView,
	RowSummary,
	RowTexts,
	resultRequests,
} from '../../src/protocol/verificationMessages.ts';
import type { Panel } from '../lib/bridge.ts';
import {
	activeFilters,
	comparedKinds,
	filterCompared,
	filterVerified,
	noFilters,
	type RowFilters,
} from './rowFilters.ts';
import { comparedOrders, type RowOrder, sortCompared, sortVerified, verifiedOrders } from './rowOrder.ts';
import type { GroupOrder, SavedState } from './savedState.ts';

export type EvidenceAction = 'copyEvidence' | 'openEvidence';

/** What changed. Only affected parts are redrawn. */
export type Change = 'place' | 'status' | 'content' | 'rows' | 'row' | 'groups' | 'probes';

type Requests = typeof resultRequests;
export type Host = Panel<ResultCommand, Requests>;

const noStatus: ResultStatus = { phase: 'idle', failure: null, stale: false, result: 0 };

/** Panel state: results from the extension and the user's filters. */
export class ResultsModel extends Disposable {
	readonly #host: Host;
	readonly #changed = this.register(new Emitter<ReadonlySet<Change>>());
	readonly onChange = this.#changed.event;
	place: ResultPlace | null = null;
	fileLabel = '';
	status: ResultStatus = noStatus;
	/** ID of the result that `content` and the rows belong to. */
	result = 0;
	content: ResultContent | null = null;
	/** All rows of a verification or a comparison. The other list is empty. */
	verified: readonly RowSummary[] = [];
	compared: readonly ComparedSummary[] = [];
	/** Number of rows not yet received. */
	loading = 0;
	loadFailure: string | null = null;
	/** Indexes of the rows that match the filters, in display order. */
	shown: readonly number[] = [];
	/** Index of the open row. */
	row: number | null = null;
	filters: RowFilters;
	order: RowOrder;
	groupOrder: GroupOrder;
	outcome: SavedState['outcome'];
	searching = false;
	searchFailure: string | null = null;
	#found: ReadonlySet<number> | null = null;
	#part: SavedState['part'];
	#restored: boolean;
	#work = new AbortController();
	#search = new AbortController();

	constructor(host: Host, saved?: SavedState) {
		super();
		this.#host = host;
		this.filters = saved?.filters ?? noFilters;
		this.order = saved?.order ?? 'list';
		this.groupOrder = saved?.groupOrder ?? 'narrow';
		this.outcome = saved?.outcome ?? 'all';
		this.row = saved?.row ?? null;
		this.#part = saved?.part ?? null;
		this.#restored = saved !== undefined;
		this.register({
			dispose: () => {
				this.#work.abort();
				this.#search.abort();
			},
		});
	}

	receive(event: ResultEvent): void {
		if (event.type === 'status') {
			this.status = event.status;
			// The event refers to an unknown result, so a message was lost.
			if (event.status.result !== this.result && event.status.result !== 0) this.#host.post({ type: 'ready' });
			this.#fire('status');
			return;
		}
		const { place, fileLabel, status, content } = event;
		this.place = place;
		this.fileLabel = fileLabel;
		this.status = status;
		this.#keepPart(content);
		this.#fire('place', 'status');
		void this.#take(status.result, content);
	}

	/** Reselects the restored part, because the extension does not remember it when the window reloads. */
	#keepPart(content: ResultContent | null): void {
		if (content?.view !== 'verification') return;
		const wanted = this.#restored ? this.#part : null;
		this.#restored = false;
		if (wanted !== null && wanted !== content.part && content.parts.some(({ part }) => part === wanted)) {
			this.#host.post({ type: 'choosePart', part: wanted });
			return;
		}
		this.#part = content.part;
	}

	/** Shows a result once all its rows have arrived. Until then, the previous content stays visible. */
	async #take(result: number, content: ResultContent | null): Promise<void> {
		this.#work.abort();
		this.#work = new AbortController();
		const { signal } = this.#work;
		this.loadFailure = null;
		const rows: (RowSummary | ComparedSummary)[] = [];
		if (content !== null && content.view !== 'audit') {
			rows.push(...content.rows);
			try {
				while (rows.length < content.total) {
					this.loading = content.total - rows.length;
					const more = await this.#host.request('loadRows', { result, from: rows.length }, signal);
					if (signal.aborted) return;
					if (more.rows.length === 0) throw new Failure('missing', 'Some rows of the result are missing.');
					rows.push(...more.rows);
				}
			} catch (error) {
				if (signal.aborted) return;
				// A newer result arrives with its own snapshot.
				if (error instanceof Failure && error.reason === 'mismatch') return;
				this.loadFailure = Failure.from(error).message;
			}
		}
		this.loading = 0;
		const same = result === this.result;
		this.result = result;
		this.content = content;
		this.verified = content?.view === 'verification' ? (rows as RowSummary[]) : [];
		this.compared = content?.view === 'comparison' ? (rows as ComparedSummary[]) : [];
		if (!this.#isGroupThere()) this.filters = { ...this.filters, group: null };
		if (content !== null && content.view !== 'audit') this.#fitChoices(content.view);
		if (!same) this.#found = null;
		if (this.filters.text !== '' && content !== null) void this.#findText();
		this.#select();
		this.#fire('content', 'rows', 'row', 'groups', 'probes');
	}

	/** Resets choices that do not apply to the current view. */
	#fitChoices(view: Exclude<ResultsView, 'audit'>): void {
		const orders: readonly string[] = view === 'verification' ? verifiedOrders : comparedOrders;
		if (!orders.includes(this.order)) this.order = 'list';
		if (view === 'comparison' && !(comparedKinds as readonly string[]).includes(this.filters.kind)) {
			this.filters = { ...this.filters, kind: 'all' };
		}
	}

	#isGroupThere(): boolean {
		const { group } = this.filters;
		if (group === null) return true;
		return (
			this.verified.some((row) => String(row.group) === group) ||
			this.compared.some((row) => `${row.step}/${row.group}` === group)
		);
	}

	get rowCount(): number {
		return this.verified.length + this.compared.length;
	}

	/** Whether a task is in progress. */
	get busy(): boolean {
		return this.status.phase === 'loading' || this.status.phase === 'running';
	}

	setFilters(changes: Partial<RowFilters>): void {
		const text = this.filters.text;
		this.filters = { ...this.filters, ...changes };
		if (this.filters.text !== text) {
			this.#found = null;
			this.#search.abort();
			this.searching = false;
			this.searchFailure = null;
			if (this.filters.text !== '') {
				void this.#findText();
				return;
			}
		}
		this.#select();
		this.#fire('rows', 'row', 'groups');
	}

	clearFilters(): void {
		if (activeFilters(this.filters) > 0) this.setFilters(noFilters);
	}

	setOrder(order: RowOrder): void {
		this.order = order;
		this.#select();
		this.#fire('rows', 'row');
	}

	/** Shows the rows with the lowest or highest values first, and opens the first one. */
	showExtreme(end: 'value-low' | 'value-high'): void {
		this.order = end;
		this.filters = { ...this.filters, kind: 'all', range: null };
		this.row = null;
		this.#select();
		this.row = this.shown[0] ?? null;
		this.#fire('rows', 'row');
	}

	setGroupOrder(order: GroupOrder): void {
		this.groupOrder = order;
		this.#fire('groups');
	}

	setOutcome(outcome: SavedState['outcome']): void {
		this.outcome = outcome;
		this.#fire('probes');
	}

	openRow(row: number): void {
		if (this.row === row) return;
		this.row = row;
		this.#fire('row');
	}

	/** Moves the open row by a number of positions in the list. */
	moveRow(by: number): void {
		if (this.shown.length === 0) return;
		const at = this.row === null ? -1 : this.shown.indexOf(this.row);
		const next = Math.max(0, Math.min(this.shown.length - 1, at + by));
		this.openRow(this.shown[next] as number);
	}

	loadTexts(index: number, signal: AbortSignal): Promise<RowTexts> {
		return this.#host.request('loadRow', { result: this.result, index }, signal);
	}

	/** Requests an action on a row. */
	act(method: 'openText' | 'openPlace' | 'debugRow' | 'openRollouts', index: number): Promise<unknown> {
		return this.#host.request(method, { result: this.result, index });
	}

	copy(index: number, part: 'completion' | 'prompt' | 'json'): Promise<unknown> {
		return this.#host.request('copy', { result: this.result, index, part });
	}

	actOnEvidence(method: EvidenceAction, finding: number, index: number): Promise<unknown> {
		return this.#host.request(method, { result: this.result, finding, index });
	}

	addCase(finding: number, index: number): Promise<{ readonly file: string; readonly line: number }> {
		return this.#host.request('addCase', { result: this.result, finding, index });
	}

	post(command: ResultCommand): void {
		this.#host.post(command);
	}

	saved(): SavedState | null {
		if (this.place === null) return null;
		const { place, filters, order, groupOrder, outcome, row } = this;
		return { place, part: this.#part, filters, order, groupOrder, outcome, row };
	}

	async #findText(): Promise<void> {
		const { result } = this;
		const { text } = this.filters;
		this.#search.abort();
		this.#search = new AbortController();
		const { signal } = this.#search;
		this.searching = true;
		this.searchFailure = null;
		this.#fire('rows');
		try {
			const { rows } = await this.#host.request('search', { result, text }, signal);
			if (signal.aborted) return;
			this.#found = new Set(rows);
		} catch (error) {
			const failure = Failure.from(error);
			if (signal.aborted || failure.reason === 'mismatch') return;
			this.searchFailure = failure.message;
		}
		this.searching = false;
		this.#select();
		this.#fire('rows', 'row', 'groups');
	}

	/** Filters and sorts the rows. Keeps the open row if it is still visible, otherwise opens the first. */
	#select(): void {
		const { filters, order } = this;
		this.shown =
			this.compared.length > 0
				? sortCompared(this.compared, filterCompared(this.compared, filters, this.#found), order)
				: sortVerified(this.verified, filterVerified(this.verified, filters, this.#found), order);
		if (this.row === null || !this.shown.includes(this.row)) this.row = this.shown[0] ?? null;
	}

	#fire(...changes: readonly Change[]): void {
		this.#changed.fire(new Set(changes));
	}
}
