import { lstat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { pipelineFiles } from '../../protocol/pipelineFiles.ts';
import type { PipelineView, StageView } from '../../runs/pipeline/pipelineView.ts';
import { isPipelineFolder } from '../../runs/runFolders.ts';
import type { EvaluationView } from '../evaluation/evaluationList.ts';
import { Refresher } from '../refresher.ts';
import type { RunStore } from '../runStore.ts';
import type { RunView } from '../runView.ts';
import type { TooltipRow } from '../treeRow.ts';
import { isLivePipeline } from './pipelineState.ts';
import { StagePace } from './stagePace.ts';

interface Entry {
	readonly view: PipelineView;
	/** Stamp of pipeline.json; a finished pipeline is reread only if it changes. */
	readonly stamp: string;
	/** Results of the evaluation stages, by stage folder. */
	readonly evaluations: ReadonlyMap<string, EvaluationView>;
}

type KnownRuns = Pick<RunStore, 'runs' | 'onDidChange' | 'expect' | 'isOwn'>;

/** Interval for rereading running pipelines and checking others, in milliseconds. */
const lookMs = 2000;

/** Pipelines that contain the known runs, plus those started here. They are identified only by their folders. */
export class PipelineStore extends Disposable {
	readonly #store: KnownRuns;
	readonly #entries = new Map<string, Entry>();
	readonly #expected = new Set<string>();
	/** Folders that contain runs but are not pipelines. */
	readonly #others = new Set<string>();
	readonly #changed: Emitter<void>;
	readonly #pace = new StagePace();
	readonly #refresher = this.register(
		new Refresher(
			() => this.#lookAtAll(),
			() => (this.#entries.size > 0 ? lookMs : null),
		),
	);
	/** Loaded with the first pipeline. */
	#words: typeof import('./pipelinePresentation.ts') | null = null;

	constructor(store: KnownRuns, onError: (error: unknown) => void) {
		super();
		this.#store = store;
		this.#changed = this.register(new Emitter<void>(onError));
		this.register(store.onDidChange(() => void this.refresh()));
	}

	/** Fires when a pipeline is added, removed, or changed. */
	get onDidChange() {
		return this.#changed.event;
	}

	/** Newest first. */
	get pipelines(): readonly PipelineView[] {
		return [...this.#entries.values()]
			.map(({ view }) => view)
			.sort((a, b) => b.record.created - a.record.created || (a.folder < b.folder ? -1 : 1));
	}

	/** The pipelines that belong to the window, newest first. */
	get own(): readonly PipelineView[] {
		return this.pipelines.filter(({ folder }) => this.#store.isOwn(folder));
	}

	get(folder: string): PipelineView | undefined {
		return this.#entries.get(resolve(folder))?.view;
	}

	/** Returns the pipeline that contains a stage folder. */
	around(folder: string): PipelineView | undefined {
		return this.get(dirname(folder));
	}

	/** Returns the stage with this folder. */
	stageAt(folder: string): StageView | undefined {
		return this.around(folder)?.stages.find(({ name }) => name === basename(folder));
	}

	/**
	 * Returns the tree row for a pipeline or stage folder, or null for any other folder.
	 * @param now in seconds since the epoch
	 * @param run run of the stage, if any
	 */
	rowOf(folder: string, now: number, run?: RunView): TooltipRow | null {
		const pipeline = this.get(folder);
		if (pipeline !== undefined) {
			const stage = pipeline.stages.find(({ status }) => status === 'running');
			const left = stage === undefined ? null : this.#left(stage, now);
			return this.#words?.presentPipeline(pipeline, now, left) ?? null;
		}
		const around = this.around(folder);
		const stage = this.stageAt(folder);
		if (stage === undefined || around === undefined) return null;
		const evaluation = this.evaluationAt(folder);
		return (
			this.#words?.presentStage(stage, { run, pipeline: around, evaluation, left: this.#left(stage, now) }) ?? null
		);
	}

	/** Returns the result of a finished evaluation stage in a folder. */
	evaluationAt(folder: string): EvaluationView | undefined {
		return this.#entries.get(dirname(folder))?.evaluations.get(folder);
	}

	/** Returns the first data file created by a stage, or null if there is none. */
	dataOf(folder: string): string | null {
		const state = this.around(folder)?.record.stages.find(({ name }) => name === basename(folder));
		const made = state?.outputs.find(({ path }) => path.startsWith('data/'));
		return made === undefined ? null : join(folder, ...made.path.split('/'));
	}

	#left({ folder, status, done, total }: StageView, now: number): number | null {
		if (status !== 'running' || done === null || total === null) return null;
		return this.#pace.left(folder, done, total, now);
	}

	/** Adds a pipeline folder before it contains any runs. */
	async expect(folder: string): Promise<void> {
		this.#expected.add(resolve(folder));
		await this.refresh();
	}

	/** Rescans everything and resolves once everything on disk at the time of the call is loaded. */
	refresh(): Promise<void> {
		return this.#refresher.refresh();
	}

	async #lookAtAll(): Promise<void> {
		const folders = new Set([...this.#expected, ...this.#store.runs.map(({ folder }) => dirname(folder))]);
		let news = false;
		for (const folder of folders) if (!this.#others.has(folder)) news = (await this.#lookAt(folder)) || news;
		for (const folder of this.#entries.keys()) {
			if (folders.has(folder)) continue;
			this.#entries.delete(folder);
			news = true;
		}
		if (news && !this.disposed) this.#changed.fire();
	}

	/** @returns whether anything changed */
	async #lookAt(folder: string): Promise<boolean> {
		const entry = this.#entries.get(folder);
		if (entry === undefined && !(await isPipelineFolder(folder))) {
			// An expected pipeline might not have been written yet.
			if (!this.#expected.has(folder)) this.#others.add(folder);
			return false;
		}
		const stat = await lstat(join(folder, pipelineFiles.record)).catch(() => null);
		const stamp = stat === null ? '' : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
		if (entry !== undefined && entry.stamp === stamp && !isLivePipeline(entry.view)) return false;
		try {
			// The recipe reader is loaded only when there is a pipeline.
			const { viewPipeline } = await import('../../runs/pipeline/pipelineView.ts');
			this.#words ??= await import('./pipelinePresentation.ts');
			const view = await viewPipeline(folder);
			this.#notePace(view.stages);
			this.#expectRuns(view.stages);
			const evaluations = await evaluationsIn(view.stages, entry?.evaluations);
			this.#entries.set(folder, { view, stamp, evaluations });
			return entry === undefined || JSON.stringify(entry.view) !== JSON.stringify(view);
		} catch {
			return this.#entries.delete(folder);
		}
	}

	/** Immediately lists the run of a stage that has just started, instead of waiting for the next scan. */
	#expectRuns(stages: readonly StageView[]): void {
		for (const { type, status, done, folder } of stages) {
			if (status !== 'running' || done === null || type === 'search' || type === 'evaluate') continue;
			if (!this.#store.runs.some((run) => run.folder === folder)) void this.#store.expect(folder);
		}
	}

	#notePace(stages: readonly StageView[]): void {
		const now = Date.now() / 1000;
		for (const { folder, status, done } of stages) {
			if (status !== 'running') this.#pace.forget(folder);
			else if (done !== null) this.#pace.note(folder, done, now);
		}
	}
}

/** Returns the evaluations of finished stages. @param known evaluations read earlier */
async function evaluationsIn(
	stages: readonly StageView[],
	known: ReadonlyMap<string, EvaluationView> | undefined,
): Promise<ReadonlyMap<string, EvaluationView>> {
	const found = new Map<string, EvaluationView>();
	for (const { type, status, folder, accuracy } of stages) {
		if (type !== 'evaluate' || status !== 'finished') continue;
		const before = known?.get(folder);
		const { evaluationAt } = await import('../evaluation/evaluationList.ts');
		// Reuse the evaluation only if its accuracy matches pipeline.json; otherwise, the stage was rerun.
		const same = before?.accuracy?.accuracy === accuracy;
		const view = same ? (before ?? null) : await evaluationAt(folder);
		if (view !== null) found.set(folder, view);
	}
	return found;
}
