import { lstat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { Refresher } from '../refresher.ts';
import type { RunStore } from '../runStore.ts';
import type { TooltipRow } from '../treeRow.ts';
import type { EvaluationView } from './evaluationList.ts';

interface Entry {
	readonly stamp: string;
	readonly views: readonly EvaluationView[];
}

/** Minimum interval between scans of the evaluation folders, in milliseconds. */
const lookMs = 4000;

/**
 * The evaluations of all known runs. Folders are rescanned automatically; a run without evaluations costs one `lstat`
 * every few seconds.
 */
export class EvaluationStore extends Disposable {
	readonly #store: Pick<RunStore, 'runs' | 'onDidChange'>;
	readonly #entries = new Map<string, Entry>();
	readonly #changed: Emitter<void>;
	/** Loaded with the first evaluation. */
	#words: typeof import('./evaluationPresentation.ts') | null = null;
	readonly #refresher = this.register(new Refresher(() => this.#lookAtAll()));

	constructor(store: Pick<RunStore, 'runs' | 'onDidChange'>, onError: (error: unknown) => void) {
		super();
		this.#store = store;
		this.#changed = this.register(new Emitter<void>(onError));
		this.register(store.onDidChange(() => this.#refresher.refreshWithin(this.#entries.size === 0 ? 0 : lookMs)));
	}

	get onDidChange() {
		return this.#changed.event;
	}

	/** Returns the evaluations of a run's checkpoints, sorted by step, then by time. */
	of(run: string): readonly EvaluationView[] {
		return this.#entries.get(resolve(run))?.views ?? [];
	}

	get(folder: string): EvaluationView | undefined {
		return this.of(runOf(folder)).find((view) => view.folder === folder);
	}

	/**
	 * Returns the tree row for an evaluation folder, or null if the folder is not a known evaluation. @param now in
	 * seconds since the epoch
	 */
	rowOf(folder: string, now: number): TooltipRow | null {
		const view = this.get(folder);
		return view === undefined ? null : (this.#words?.presentEvaluation(view, now) ?? null);
	}

	/** Rescans all runs and resolves once everything on disk at the time of the call is loaded. */
	refresh(): Promise<void> {
		return this.#refresher.refresh();
	}

	async #lookAtAll(): Promise<void> {
		let news = false;
		const runs = this.#store.runs.map(({ folder }) => folder);
		for (let i = 0; i < runs.length && !this.disposed; i += together) {
			const some = await Promise.all(runs.slice(i, i + together).map((run) => this.#lookAt(run)));
			news ||= some.includes(true);
		}
		const known = new Set(runs);
		for (const run of this.#entries.keys()) if (!known.has(run)) news = this.#entries.delete(run) || news;
		if (news && !this.disposed) this.#changed.fire();
	}

	/** @returns whether anything changed */
	async #lookAt(run: string): Promise<boolean> {
		const folder = join(run, runFiles.annotations, 'evaluations');
		const entry = this.#entries.get(run);
		const stat = await lstat(folder).catch(() => null);
		if (stat === null || !stat.isDirectory()) return this.#entries.delete(run);
		const list = await import('./evaluationList.ts');
		this.#words ??= await import('./evaluationPresentation.ts');
		const stamp = await list.evaluationsStamp(folder, entry?.views.map(({ name }) => name) ?? []);
		if (entry !== undefined && stamp === entry.stamp) return false;
		const views = await list.evaluationsOf(run);
		const names = views.map(({ name }) => name);
		this.#entries.set(run, { stamp: (await list.evaluationsStamp(folder, names)) ?? '', views });
		return JSON.stringify(views) !== JSON.stringify(entry?.views ?? []);
	}
}

/** Number of runs scanned concurrently. */
const together = 16;

/** Returns the run that contains an evaluation folder: `<run>/annotations/evaluations/<name>`. */
function runOf(folder: string): string {
	const evaluations = dirname(folder);
	return basename(evaluations) === 'evaluations' ? dirname(dirname(evaluations)) : folder;
}
