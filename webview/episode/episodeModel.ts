import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import { type BranchDifference, branchDifference } from '../../src/core/episode/branchDifferences.ts';
import type { ToolCall } from '../../src/protocol/episode.ts';
import {
	type EpisodeBranch,
	type EpisodeCommand,
	type EpisodeEvent,
	type EpisodeState,
	type EpisodeStatus,
	type episodeRequests,
	maxCalls,
} from '../../src/protocol/episodeMessages.ts';
import type { Panel } from '../lib/bridge.ts';
import { frames } from '../lib/frames.ts';
import { savedBranches } from './savedBranches.ts';

export type EpisodeHost = Panel<EpisodeCommand, typeof episodeRequests>;

/** `turn`: another turn was selected; `form`: the input has changed. */
export type Change = 'status' | 'branches' | 'turn' | 'form' | 'view';

type Form = EpisodeState['form'];

/** State of the view: episodes, current episode and turn, and form input. */
export class EpisodeModel extends Disposable {
	readonly host: EpisodeHost;
	readonly #changed = this.register(new Emitter<ReadonlySet<Change>>());
	readonly onChange = this.#changed.event;
	status: EpisodeStatus | null = null;
	branches: readonly EpisodeBranch[];
	form: Form;
	speed: EpisodeState['speed'];
	replaysOnSave: boolean;
	/** Why the columns in the form are invalid; empty if they are valid. */
	rowFault = '';
	#shown: number | null;
	#turn: number;
	#compareWith: number | null;
	#saved: EpisodeState | null;
	/** Whether to show the requested replay when it is done. */
	#replaying = false;
	#difference: { readonly of: EpisodeBranch; readonly to: EpisodeBranch; readonly value: BranchDifference } | null =
		null;

	constructor(host: EpisodeHost, state: EpisodeState | undefined) {
		super();
		this.host = host;
		this.#saved = state ?? null;
		this.branches = state?.branches ?? [];
		this.#shown = state?.show?.branch ?? null;
		this.#turn = state?.show?.turn ?? 0;
		this.#compareWith = state?.compareWith ?? null;
		this.speed = state?.speed ?? 1;
		this.replaysOnSave = state?.replaysOnSave ?? true;
		this.form = state?.form ?? { seed: '1', row: null, columns: null, tool: null, inputs: {}, pending: [] };
	}

	/** State to save; null until the file is known. */
	get state(): EpisodeState | null {
		const { status, form, speed, replaysOnSave, shown } = this;
		const file = status?.file ?? this.#saved?.file;
		if (file === undefined) return null;
		return {
			...{ file, form, speed, replaysOnSave, compareWith: this.#compareWith },
			runFolder: status === null ? (this.#saved?.runFolder ?? null) : status.runFolder,
			branches: savedBranches(this.branches, shown?.id ?? null),
			show: shown === null ? null : { branch: shown.id, turn: this.turn },
		};
	}

	get busy(): boolean {
		return this.status === null || this.status.busy !== null;
	}

	get shown(): EpisodeBranch | null {
		return this.find(this.#shown) ?? null;
	}

	/** Current turn; 0 is the reset. */
	get turn(): number {
		return Math.min(this.#turn, this.lastTurn);
	}

	get lastTurn(): number {
		return this.shown?.turns.length ?? 0;
	}

	/** The episode that the current one is compared with. */
	get other(): EpisodeBranch | null {
		const { shown } = this;
		const other = this.find(this.#compareWith);
		return shown === null || other === undefined || other === shown ? null : other;
	}

	get difference(): BranchDifference | null {
		const { shown, other } = this;
		if (shown === null || other === null) return null;
		if (this.#difference?.of !== shown || this.#difference.to !== other) {
			this.#difference = { of: shown, to: other, value: branchDifference(shown, other) };
		}
		return this.#difference.value;
	}

	find(id: number | null): EpisodeBranch | undefined {
		return id === null ? undefined : this.branches.find((branch) => branch.id === id);
	}

	receive(event: EpisodeEvent): void {
		switch (event.type) {
			case 'snapshot':
				this.status = event.status;
				this.branches = event.branches;
				if (this.shown === null)
					this.#place(event.show?.branch ?? event.branches.at(-1)?.id ?? null, event.show?.turn ?? 0);
				this.#tell('status', 'branches', 'turn', 'form', 'view');
				break;
			case 'status':
				this.status = event.status;
				this.#tell('status', 'form');
				break;
			case 'branch':
				this.#receiveBranch(event.branch, event.show);
				break;
			case 'kept': {
				const kept = new Set(event.branches);
				this.branches = this.branches.filter(({ id }) => kept.has(id));
				if (this.shown === null) this.#place(this.branches.at(-1)?.id ?? null, 0);
				this.#tell('branches', 'turn');
				break;
			}
			case 'changed': {
				// A hidden view replays when it becomes visible again.
				frames.request(() => {
					if (this.replaysOnSave && this.shown?.reset) this.replay();
				});
				break;
			}
		}
	}

	post(command: EpisodeCommand): void {
		this.host.post(command);
	}

	show(branch: number, turn = 0): void {
		const found = this.find(branch);
		if (found === undefined) return;
		this.#place(branch, turn);
		const { origin } = found;
		if (this.other === null && (origin.kind === 'replay' || origin.kind === 'branch')) this.#compareWith = origin.of;
		this.#tell('branches', 'turn', 'form');
	}

	goTo(turn: number): void {
		const to = Math.max(0, Math.min(this.lastTurn, turn));
		if (to === this.turn && to === this.#turn) return;
		this.#turn = to;
		this.#tell('turn', 'form');
	}

	compare(other: number | null): void {
		this.#compareWith = other;
		this.#tell('branches', 'turn');
	}

	setSpeed(speed: EpisodeState['speed']): void {
		this.speed = speed;
		this.#tell('view');
	}

	setReplaysOnSave(replays: boolean): void {
		this.replaysOnSave = replays;
		this.#tell('view');
	}

	type(change: Partial<Form>): void {
		this.form = { ...this.form, ...change };
		this.#tell('form');
	}

	/** Starts an episode with the row and seed in the form. Returns an error message, or null. */
	reset(): { readonly field: 'seed' | 'columns'; readonly why: string } | null {
		const { seed, row, columns } = this.form;
		const number = Number(seed);
		if (!/^\d+$/.test(seed.trim()) || number >= 2 ** 31) {
			return { field: 'seed', why: 'Enter an integer from 0 to 2,147,483,647.' };
		}
		const read = columns === null ? null : readColumns(columns);
		if (read !== null && 'why' in read) return { field: 'columns', why: read.why };
		const index = this.rowIndex(row);
		this.post({ type: 'reset', index, columns: read?.columns ?? null, seed: number });
		return null;
	}

	/** Returns the position of a dataset row in the list; the first position if it is not listed. */
	rowIndex(row: number | null): number | null {
		const rows = this.status?.rows ?? [];
		const index = rows.findIndex((one) => one.row === row);
		return rows.length === 0 ? null : Math.max(0, index);
	}

	/** Copies the columns of a row into the form, for editing. */
	async editColumns(): Promise<void> {
		const index = this.rowIndex(this.form.row);
		const text = index === null ? '{}' : (await this.host.request('loadRow', { index })).text;
		this.type({ columns: text });
	}

	addPending(call: ToolCall): void {
		const { pending } = this.form;
		if (pending.length < maxCalls) this.type({ pending: [...pending, call] });
	}

	/** Repeats the calls of the current episode with the current code. */
	replay(): void {
		const { shown } = this;
		if (shown === null) return;
		this.#replaying = true;
		this.post({ type: 'replay', branch: shown.id });
	}

	/** Sends a turn that follows the current one. */
	send(calls: readonly ToolCall[]): void {
		const { shown } = this;
		if (shown === null || this.busy) return;
		this.post({ type: 'call', branch: shown.id, turn: this.turn, calls: [...calls] });
		this.type({ pending: [] });
	}

	#receiveBranch(branch: EpisodeBranch, show: number | null): void {
		const before = this.find(branch.id);
		this.branches =
			before === undefined
				? [...this.branches, branch]
				: this.branches.map((one) => (one.id === branch.id ? branch : one));
		if (this.#replaying && branch.origin.kind === 'replay') {
			// Keep the same turn selected, for comparison.
			this.#replaying = false;
			this.#shown = branch.id;
			this.#compareWith = branch.origin.of;
		} else if (show !== null) this.#place(branch.id, show);
		else if (this.shown === null) this.#place(branch.id, 0);
		if (show !== null && before === undefined) {
			this.#compareWith = branch.origin.kind === 'branch' ? branch.origin.of : null;
		}
		this.#tell('branches', 'turn', 'form');
	}

	#place(branch: number | null, turn: number): void {
		this.#shown = branch;
		this.#turn = turn;
	}

	#tell(...changes: Change[]): void {
		this.#changed.fire(new Set(changes));
	}
}

function readColumns(text: string): { readonly columns: Record<string, unknown> } | { readonly why: string } {
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { columns: { ...value } };
		return { why: 'Enter a JSON object with the columns of a row.' };
	} catch (error) {
		return { why: `Invalid JSON: ${Failure.from(error).message}` };
	}
}
