import { Disposable, toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import { sharedNames } from '../../../core/comparison/overlay.ts';
import { recipeDiff } from '../../../core/comparison/recipeDiff.ts';
import { seedGroups } from '../../../core/comparison/seedGroups.ts';
import { countProblems, pairProblems } from '../../../core/evaluation/pairProblems.ts';
import type {
	ComparisonEvent,
	HeldOut,
	PairResult,
	PromptResult,
	PromptsResult,
	RecipesResult,
} from '../../../protocol/runComparisonMessages.ts';
import { type HeldOutPlace, heldOutOf, samplesOf } from '../../../runs/heldOutSource.ts';
import { openRun } from '../../../runs/openRun.ts';
import type { RunContent } from '../../../runs/runContent.ts';
import { readResolvedRecipe } from '../../../runs/runReader.ts';
import { FollowedRun } from './comparedRun.ts';
import { SharedPrompts } from './sharedPrompts.ts';

export interface RunComparisonOptions {
	readonly folders: readonly string[];
	readonly post: (event: ComparisonEvent) => PromiseLike<unknown>;
	/** Called when the runs' names become known or change. */
	readonly onNames?: (names: readonly string[]) => void;
	/** Minimum interval between updates, in milliseconds, so that fast runs do not flood the webview. */
	readonly newsMs?: number;
	readonly pollMs?: number;
}

/** The state and messages of a run comparison, independent of VS Code. Follows runs live with bounded memory. */
export class RunComparisonSession extends Disposable {
	readonly #options: RunComparisonOptions;
	readonly #runs: FollowedRun[];
	readonly #contents = new Map<number, Promise<RunContent>>();
	readonly #prompts: SharedPrompts;
	/** Runs whose curves have changed since they were last sent to the webview. */
	readonly #stale = new Set<number>();
	#shared = '';
	#runsDirty = false;
	/** Group of each run; empty until the recipes have been read. */
	#groups: readonly (number | null)[] = [];
	#listening = false;
	#timer: NodeJS.Timeout | null = null;
	#pumping = false;
	#search = 0;
	#searching: AbortController | null = null;
	#names = '';

	constructor(options: RunComparisonOptions) {
		super();
		this.#options = options;
		this.#prompts = new SharedPrompts(options.folders.length, (run) => this.#content(run));
		this.#runs = options.folders.map((folder, i) =>
			this.register(
				new FollowedRun(
					folder,
					(change) => {
						if (change === 'curves') this.#stale.add(i);
						this.#runsDirty = true;
						this.#schedule();
					},
					options.pollMs,
				),
			),
		);
		this.register(
			toDisposable(() => {
				if (this.#timer !== null) clearTimeout(this.#timer);
				this.#searching?.abort();
				this.#listening = false;
			}),
		);
	}

	/** Called when the webview has (re)started; sends it the complete state. */
	begin(): void {
		this.#listening = true;
		void this.#group();
		this.#runsDirty = true;
		for (const i of this.#runs.keys()) this.#stale.add(i);
		this.#flush();
	}

	/** Finds the runs that differ only in their seed. Recipes do not change while a run trains. */
	async #group(): Promise<void> {
		if (this.#groups.length > 0) return;
		this.#groups = seedGroups(await this.#recipes());
		this.#runsDirty = true;
		this.#schedule();
	}

	async refresh(): Promise<void> {
		await Promise.all(this.#runs.map((run) => run.refresh()));
		this.#flush();
	}

	folder(run: number): string {
		const found = this.#options.folders[run];
		if (found === undefined) throw new Failure('invalid', `The comparison does not include run ${run}.`);
		return found;
	}

	name(run: number): string {
		return this.#runs[run]?.state.name ?? '';
	}

	async recipes(): Promise<RecipesResult> {
		const { changed, same, without, cut } = recipeDiff(await this.#recipes());
		return {
			changed: changed.map(({ key, values }) => ({ key, values: [...values] })),
			same,
			without: [...without],
			cut,
		};
	}

	/** Returns a recipe as text for the editor's diff view. Fails with `missing` if the run has none. */
	async recipeText(run: number): Promise<string> {
		const recipe = await readResolvedRecipe(this.folder(run)).catch((error: unknown) => {
			throw new Failure(
				'missing',
				`${this.name(run)} has no readable recipe.`,
				'Only Reasoning Lab runs include their recipe. Compare two Reasoning Lab runs.',
				{ cause: error },
			);
		});
		return `${JSON.stringify(recipe, null, 2)}\n`;
	}

	async heldOut(): Promise<{ runs: HeldOut[][] }> {
		const runs: HeldOut[][] = [];
		for (const i of this.#runs.keys()) {
			// A run that cannot be read reports its own error.
			runs.push(
				await this.#content(i)
					.then((content) => heldOutOf(content))
					.catch(() => []),
			);
		}
		return { runs };
	}

	async pair(
		first: HeldOutPlace & { readonly run: number },
		second: HeldOutPlace & { readonly run: number },
	): Promise<PairResult> {
		const sides = [];
		for (const place of [first, second]) {
			try {
				sides.push(countProblems(await samplesOf(await this.#content(place.run), place)));
			} catch (error) {
				return { counts: null, reason: `${this.name(place.run)}: ${Failure.from(error).message}` };
			}
		}
		const [one, other] = sides;
		if (one === undefined || other === undefined) return { counts: null, reason: 'There are no problems to pair.' };
		const { pairs, onlyFirst, onlySecond } = pairProblems(one, other);
		return {
			counts: {
				firstRight: pairs.map((pair) => pair.first.right),
				firstSamples: pairs.map((pair) => pair.first.samples),
				secondRight: pairs.map((pair) => pair.second.right),
				secondSamples: pairs.map((pair) => pair.second.samples),
				onlyFirst,
				onlySecond,
			},
			reason: null,
		};
	}

	/** Starting a new search cancels the previous one. */
	async searchPrompts(all: boolean): Promise<PromptsResult> {
		this.#searching?.abort();
		const controller = new AbortController();
		this.#searching = controller;
		this.#search++;
		const search = this.#search;
		let reportedAt = 0;
		const result = await this.#prompts.search(
			all,
			({ rollouts, done, total, skipped }) => {
				const now = performance.now();
				if (now - reportedAt < 200 || search !== this.#search || !this.#listening) return;
				reportedAt = now;
				void this.#options.post({
					type: 'promptProgress',
					...{ search, rollouts, steps: done, totalSteps: total, skipped },
				});
			},
			controller.signal,
		);
		if (this.#searching === controller) this.#searching = null;
		return result;
	}

	cancelPrompts(): void {
		this.#searching?.abort();
	}

	showPrompt(hash: string, steps: readonly (number | null)[]): Promise<PromptResult> {
		return this.#prompts.show(hash, steps);
	}

	/** Returns a cached object per run, so that data already read from its files is reused. Failed loads are retried. */
	#content(run: number): Promise<RunContent> {
		let content = this.#contents.get(run);
		if (content === undefined) {
			content = openRun(this.folder(run), { live: true });
			this.#contents.set(run, content);
			content.catch(() => this.#contents.delete(run));
		}
		return content;
	}

	#recipes(): Promise<unknown[]> {
		return Promise.all(
			this.#options.folders.map((folder) => readResolvedRecipe(folder).catch(() => undefined as unknown)),
		);
	}

	#schedule(): void {
		if (!this.#listening || this.#timer !== null || this.disposed) return;
		this.#timer = setTimeout(() => {
			this.#timer = null;
			this.#flush();
		}, this.#options.newsMs ?? 500);
	}

	#flush(): void {
		if (this.disposed) return;
		const states = this.#runs.map((run, i) => ({ ...run.state, seedGroup: this.#groups[i] ?? null }));
		const names = JSON.stringify(states.map(({ name }) => name));
		if (names !== this.#names) {
			this.#names = names;
			this.#options.onNames?.(states.map(({ name }) => name));
		}
		if (!this.#listening) return;
		if (this.#runsDirty) {
			this.#runsDirty = false;
			void this.#options.post({ type: 'runs', runs: states });
		}
		void this.#pump();
	}

	/** Sends changed curves one run at a time, yielding to other tasks in between. */
	async #pump(): Promise<void> {
		if (this.#pumping) return;
		this.#pumping = true;
		try {
			const shared = sharedNames(this.#runs.map((run) => run.curves.names));
			// When a second run gets a metric, the first run's curve becomes comparable too and must be sent.
			const key = shared.join('\n');
			if (key !== this.#shared) {
				this.#shared = key;
				for (const i of this.#runs.keys()) this.#stale.add(i);
			}
			for (const i of [...this.#stale]) {
				if (!this.#listening || this.disposed) return;
				this.#stale.delete(i);
				const { curves } = this.#runs[i] as FollowedRun;
				const { names, values, ...points } = curves.take(shared);
				const event: ComparisonEvent = {
					type: 'curves',
					run: i,
					...(points as {
						step: Float64Array<ArrayBuffer>;
						time: Float64Array<ArrayBuffer>;
						tokens: Float64Array<ArrayBuffer>;
						rowsPerPoint: number;
					}),
					names: [...names],
					values: [...values] as Float64Array<ArrayBuffer>[],
					alone: curves.names.length - names.length,
				};
				try {
					await this.#options.post(event);
				} catch {
					// The webview closed in the meantime. It will send a message when it reopens.
					this.#listening = false;
				}
				await new Promise((resolve) => setImmediate(resolve));
			}
		} finally {
			this.#pumping = false;
		}
		if (this.#stale.size > 0) this.#schedule();
	}
}
