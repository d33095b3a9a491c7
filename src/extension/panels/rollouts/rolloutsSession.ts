import { Disposable } from '../../../base/disposable.ts';
import { ownName } from '../../../core/metrics/ownName.ts';
import { messageText } from '../../../core/trace/messageText.ts';
import type { TraceTags } from '../../../core/trace/trace.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type {
	CopyPart,
	Place,
	RolloutsEvent,
	RunHeader,
	rolloutsRequests,
} from '../../../protocol/rolloutsMessages.ts';
import type { AnyRunRecord, RunStatus } from '../../../protocol/runRecord.ts';
import type { RequestParams, RequestResult } from '../../../protocol/webviewMessages.ts';
import { ownFormat } from '../../../runs/annotationFolder.ts';
import { followRun } from '../../../runs/followRun.ts';
import type { RunContent, RunFollower } from '../../../runs/runContent.ts';
import { listRolloutSteps } from '../../../runs/runReader.ts';
import type { RunTailEvent } from '../../../runs/runTail.ts';
import { GivenName } from '../givenName.ts';
import { type RecipeFacts, readRecipeFacts } from './rolloutsHeader.ts';
import { RolloutsSource } from './rolloutsSource.ts';
import { RolloutsSteps } from './rolloutsSteps.ts';

type Requests = typeof rolloutsRequests;
type Readable = Exclude<keyof Requests, 'copy' | 'openText' | 'openTranscript' | 'openEpisode' | 'searchProblem'>;
type Readers = {
	readonly [M in Readable]: (params: RequestParams<Requests, M>) => Promise<RequestResult<Requests, M>>;
};

/** Location to show in the panel. */
export interface RolloutsPlace {
	readonly step: number;
	readonly group?: number;
	/** Split to show; defaults to training. */
	readonly split?: Place['split'];
	/** Index of a completion in the group. */
	readonly index?: number;
	/** First and last token of the completion to highlight. */
	readonly tokens?: readonly [number, number];
}

const defaultListMs = 5000;

export interface SessionOptions {
	readonly post: (event: RolloutsEvent) => void;
	/** Called when the run's name becomes known or changes. */
	readonly onName: (name: string) => void;
	readonly warn: (message: string) => void;
	/** Minimum interval between `news` events, in milliseconds, so that a fast run does not flood the webview. */
	readonly newsMs?: number;
	readonly pollMs?: number;
	/** Interval between checks for new evaluations, in milliseconds. */
	readonly listMs?: number;
}

/** The state and messages of the rollouts panel: follows the run while it is visible and handles requests. */
export class RolloutsSession extends Disposable {
	readonly #run: string;
	readonly #options: SessionOptions;
	readonly #source: RolloutsSource;
	readonly #steps = new RolloutsSteps();
	readonly #loading = new Map<string, AbortController>();
	#tail: RunFollower | null = null;
	#synced = false;
	#record: AnyRunRecord | null = null;
	#status: RunStatus | null = null;
	readonly #givenName: GivenName;
	/** Steps with evaluation rollouts, and the time they were last listed. */
	#validation: readonly number[] = [];
	#listed = 0;
	#stepless = false;
	#recipe: RecipeFacts = { think: null, answer: null, weights: [], boxes: null };
	#headerChanged = false;
	#sequence = 0;
	#newsTimer: NodeJS.Timeout | null = null;
	#wanted: RolloutsPlace | null = null;

	constructor(run: string, options: SessionOptions) {
		super();
		this.#run = run;
		this.#options = options;
		this.#source = new RolloutsSource(run, () => this.#recipe);
		this.#givenName = new GivenName(run);
		this.register({ dispose: () => this.sleep() });
	}

	readonly readers: Readers = {
		loadStep: async ({ split, step }) => {
			const content = await this.#latest('loadStep', (signal) => this.#source.step(step, signal, split));
			if (split !== 'validation' && this.#steps.addGroups(step, content.groups)) this.#scheduleNews();
			return content;
		},
		loadGroup: ({ split, step, group, beside }) =>
			this.#latest(beside ? 'loadGroup beside' : 'loadGroup', (signal) =>
				this.#source.group(step, group, signal, split),
			),
		loadCompletion: async ({ split = 'train', ...place }) => ({
			completion: await this.text({ split, ...place }, 'completion'),
		}),
		loadPicture: ({ file }) => this.#source.picture(file),
		loadTokens: ({ split, step, group, index }) => this.#source.tokens(step, group, index, split),
		search: ({ split, step, text }) =>
			this.#latest('search', (signal) => this.#source.search(step, text, signal, split)),
	};

	/** The run, for features beyond steps and groups. */
	content(): Promise<RunContent> {
		return this.#source.content();
	}

	/** Name assigned by the user or the run. */
	get name(): string {
		return this.#givenName.value ?? this.#record?.name ?? '';
	}

	/** Tags around the thinking and answer sections. */
	get tags(): TraceTags {
		return this.#recipe;
	}

	rollout({ split, step, group, index }: Place): Promise<RolloutLine> {
		return this.#source.rollout(step, group, index, split);
	}

	/** Returns a rollout's text for the clipboard or a document. */
	async text(place: Place, part: CopyPart): Promise<string> {
		const rollout = await this.rollout(place);
		return part === 'json' ? JSON.stringify(rollout, null, '\t') : messageText(rollout[part]);
	}

	/** Scrolls to a step, immediately or when the webview next starts. */
	show(place: RolloutsPlace): void {
		this.#wanted = place;
		this.#sendWanted();
	}

	/** Called when the webview has (re)started; sends it a complete snapshot and follows the run. */
	async begin(): Promise<void> {
		if (this.#tail !== null) {
			if (this.#synced) this.#sendSnapshot();
			return;
		}
		this.#steps.clear();
		const { pollMs } = this.#options;
		const tail = followRun(this.#run, pollMs === undefined ? {} : { pollMs });
		this.#tail = tail;
		const recipeFacts = readRecipeFacts(this.#run, () => this.content());
		const hasSteps = this.content().then((content) => content.hasSteps);
		const [recipe, steps] = await Promise.all([recipeFacts, hasSteps, this.#givenName.look(), this.#listValidation()]);
		if (this.#tail !== tail) return;
		this.#stepless = !steps;
		this.#recipe = recipe;
		tail.onEvent((event) => this.#take(tail, event));
		tail.start();
	}

	/** Stops following the run while the panel is hidden; `begin` resumes. */
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
				if (performance.now() - this.#listed > (this.#options.listMs ?? defaultListMs))
					void this.#lookAtValidation(tail);
				break;
			case 'error':
				this.#options.warn(event.failure.toString());
				// Existing rollouts can be read even without a readable record.
				if (!this.#synced) void this.#listAlone(tail);
				break;
		}
	}

	/** Checks for a new name, because a rename does not change the run's own files. */
	async #lookAtName(tail: RunFollower): Promise<void> {
		if (!(await this.#givenName.look()) || this.#tail !== tail) return;
		this.#headerChanged = true;
		this.#options.onName(this.#givenName.value ?? this.#record?.name ?? '');
		this.#scheduleNews();
	}

	async #lookAtValidation(tail: RunFollower): Promise<void> {
		if (!(await this.#listValidation()) || this.#tail !== tail) return;
		this.#headerChanged = true;
		this.#scheduleNews();
	}

	/** Resolves to whether the list of steps has changed. */
	async #listValidation(): Promise<boolean> {
		this.#listed = performance.now();
		const content = await this.content();
		if (content.format === ownFormat) return false;
		const steps = await content.steps('validation').catch(() => []);
		const changed = steps.length !== this.#validation.length || steps.at(-1) !== this.#validation.at(-1);
		this.#validation = steps;
		return changed;
	}

	#trainer(): RunHeader['trainer'] {
		const foreign = this.#record?.foreign;
		if (!foreign) return null;
		const name = (metric: string) => ownName(metric, foreign.format)?.names[0] ?? null;
		return { ...foreign, names: { reward: name('reward'), dead: name('frac_reward_zero_std') } };
	}

	async #listAlone(tail: RunFollower): Promise<void> {
		const steps = await listRolloutSteps(this.#run);
		if (this.#tail !== tail || this.#synced) return;
		this.#steps.addSteps(steps);
		this.#sendSnapshot();
	}

	/** Runs only the latest request of each kind, so that scrubbing through steps does not wait for skipped steps. */
	async #latest<T>(kind: Readable | 'loadGroup beside', task: (signal: AbortSignal) => Promise<T>): Promise<T> {
		this.#loading.get(kind)?.abort();
		const controller = new AbortController();
		this.#loading.set(kind, controller);
		return task(controller.signal);
	}

	#header(): RunHeader {
		return {
			folder: this.#run,
			name: this.name,
			status: this.#status,
			stage: this.#record?.stage ?? null,
			step: this.#record?.step ?? null,
			...this.#recipe,
			trainer: this.#trainer(),
			...(this.#stepless ? { stepless: true } : {}),
			validation: [...this.#validation],
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
		const { step, group, split = 'train', index, tokens } = this.#wanted;
		this.#wanted = null;
		this.#options.post({
			type: 'reveal',
			step,
			group: group ?? null,
			split,
			index: index ?? null,
			tokens: tokens ? [...tokens] : null,
		});
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
