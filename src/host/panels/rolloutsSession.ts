import { Disposable } from '../../base/disposable.ts';
import type { CopyPart, RolloutsEvent, RunHeader, rolloutsRequests } from '../../protocol/rolloutsMessages.ts';
import type { RunRecord, RunStatus } from '../../protocol/runRecord.ts';
import type { RequestParams, RequestResult } from '../../protocol/webviewMessages.ts';
import { followRun } from '../../runs/followRun.ts';
import type { RunFollower } from '../../runs/runContent.ts';
import { listRolloutSteps } from '../../runs/runReader.ts';
import type { RunTailEvent } from '../../runs/runTail.ts';
import { GivenName } from './givenName.ts';
import { type RecipeFacts, readRecipeFacts } from './rolloutsHeader.ts';
import { RolloutsSource } from './rolloutsSource.ts';
import { RolloutsSteps } from './rolloutsSteps.ts';
import { textOf } from './rolloutText.ts';

type Requests = typeof rolloutsRequests;
type Readable = Exclude<keyof Requests, 'copy' | 'openText'>;
type Readers = {
	readonly [M in Readable]: (params: RequestParams<Requests, M>) => Promise<RequestResult<Requests, M>>;
};

export interface RolloutsPlace {
	readonly step: number;
	readonly group?: number;
}

export interface SessionOptions {
	readonly post: (event: RolloutsEvent) => void;
	/** The run has told its name, or another one. */
	readonly onName: (name: string) => void;
	readonly warn: (message: string) => void;
	/** Between two `news` events: a fast run must not flood the webview. */
	readonly newsMs?: number;
	readonly pollMs?: number;
}

/** One run's rollouts as the panel tells them: follows the run while it is watched, and answers what is asked of it. */
export class RolloutsSession extends Disposable {
	readonly #run: string;
	readonly #options: SessionOptions;
	readonly #source: RolloutsSource;
	readonly #steps = new RolloutsSteps();
	readonly #loading = new Map<Readable, AbortController>();
	#tail: RunFollower | null = null;
	#synced = false;
	#record: RunRecord | null = null;
	#status: RunStatus | null = null;
	readonly #givenName: GivenName;
	#recipe: RecipeFacts = { think: null, answer: null, weights: [] };
	#headerChanged = false;
	#sequence = 0;
	#newsTimer: NodeJS.Timeout | null = null;
	#wanted: RolloutsPlace | null = null;

	constructor(run: string, options: SessionOptions) {
		super();
		this.#run = run;
		this.#options = options;
		this.#source = new RolloutsSource(run);
		this.#givenName = new GivenName(run);
		this.register({ dispose: () => this.sleep() });
	}

	readonly readers: Readers = {
		loadStep: ({ step }) => this.#latest('loadStep', (signal) => this.#source.step(step, signal)),
		loadGroup: ({ step, group }) => this.#latest('loadGroup', (signal) => this.#source.group(step, group, signal)),
		loadCompletion: async ({ step, group, index }) => ({
			completion: await this.text(step, group, index, 'completion'),
		}),
		loadTokens: ({ step, group, index }) => this.#source.tokens(step, group, index),
		search: ({ step, text }) => this.#latest('search', (signal) => this.#source.search(step, text, signal)),
	};

	/** A rollout's text, for the clipboard or a document. */
	async text(step: number, group: number, index: number, part: CopyPart): Promise<string> {
		const rollout = await this.#source.rollout(step, group, index);
		return part === 'json' ? JSON.stringify(rollout, null, '\t') : textOf(rollout[part]);
	}

	/** Brings a step into view, now or when the webview next begins. */
	show(place: RolloutsPlace): void {
		this.#wanted = place;
		this.#sendWanted();
	}

	/** The webview has (re)started: it gets a complete snapshot, and the run is followed. */
	async begin(): Promise<void> {
		if (this.#tail !== null) {
			if (this.#synced) this.#sendSnapshot();
			return;
		}
		this.#steps.clear();
		const { pollMs } = this.#options;
		const tail = followRun(this.#run, pollMs === undefined ? {} : { pollMs });
		this.#tail = tail;
		const [recipe] = await Promise.all([readRecipeFacts(this.#run), this.#givenName.look()]);
		if (this.#tail !== tail) return;
		this.#recipe = recipe;
		tail.onEvent((event) => this.#take(tail, event));
		tail.start();
	}

	/** Nobody looks: stop following. `begin` starts again. */
	sleep(): void {
		this.#tail?.dispose();
		this.#tail = null;
		this.#synced = false;
		for (const controller of this.#loading.values()) controller.abort();
		this.#loading.clear();
		if (this.#newsTimer !== null) clearTimeout(this.#newsTimer);
		this.#newsTimer = null;
	}

	#take(tail: RunFollower, event: RunTailEvent): void {
		switch (event.kind) {
			case 'reset':
				this.#steps.clear();
				this.#source.clear();
				this.#synced = false;
				break;
			case 'record':
				this.#record = event.record;
				this.#status = event.status;
				this.#headerChanged = true;
				this.#options.onName(this.#givenName.value ?? event.record.name);
				break;
			case 'metrics':
				this.#steps.addMetrics(event.lines);
				break;
			case 'rollouts':
				this.#steps.addSteps(event.steps);
				break;
			case 'synced':
				if (this.#synced) this.#scheduleNews();
				else this.#sendSnapshot();
				void this.#lookAtName(tail);
				break;
			case 'error':
				this.#options.warn(event.failure.toString());
				// Without a readable record the rollouts that are there can still be read.
				if (!this.#synced) void this.#listAlone(tail);
				break;
		}
	}

	/** A rename is no news of the run's own files. */
	async #lookAtName(tail: RunFollower): Promise<void> {
		if (!(await this.#givenName.look()) || this.#tail !== tail) return;
		this.#headerChanged = true;
		this.#options.onName(this.#givenName.value ?? this.#record?.name ?? '');
		this.#scheduleNews();
	}

	async #listAlone(tail: RunFollower): Promise<void> {
		const steps = await listRolloutSteps(this.#run);
		if (this.#tail !== tail || this.#synced) return;
		this.#steps.addSteps(steps);
		this.#sendSnapshot();
	}

	/** Only the newest request of a kind matters: one that scrubs through steps does not wait for those passed. */
	async #latest<T>(kind: Readable, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
		this.#loading.get(kind)?.abort();
		const controller = new AbortController();
		this.#loading.set(kind, controller);
		return task(controller.signal);
	}

	#header(): RunHeader {
		return {
			folder: this.#run,
			name: this.#givenName.value ?? this.#record?.name ?? '',
			status: this.#status,
			stage: this.#record?.stage ?? null,
			step: this.#record?.step ?? null,
			...this.#recipe,
		};
	}

	#sendSnapshot(): void {
		this.#synced = true;
		this.#headerChanged = false;
		this.#sequence++;
		this.#options.post({
			type: 'snapshot',
			sequence: this.#sequence,
			run: this.#header(),
			steps: this.#steps.snapshot(),
		});
		this.#sendWanted();
	}

	#sendWanted(): void {
		if (this.#wanted === null || !this.#synced) return;
		const { step, group } = this.#wanted;
		this.#wanted = null;
		this.#options.post({ type: 'reveal', step, group: group ?? null });
	}

	#scheduleNews(): void {
		this.#newsTimer ??= setTimeout(() => {
			this.#newsTimer = null;
			const changed = this.#steps.news();
			if (changed === null && !this.#headerChanged) return;
			this.#headerChanged = false;
			this.#sequence++;
			const nothing = { step: [], stage: [], stages: [], reward: [], dead: [] };
			const columns = changed ?? nothing;
			this.#options.post({ type: 'news', sequence: this.#sequence, run: this.#header(), changed: columns });
		}, this.#options.newsMs ?? 250);
	}
}
