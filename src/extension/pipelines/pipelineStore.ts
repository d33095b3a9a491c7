import { lstat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { pipelineFiles } from '../../protocol/pipelineFiles.ts';
import type { PipelineView, StageView } from '../../runs/pipeline/pipelineView.ts';
import { isPipelineFolder } from '../../runs/runRegistry.ts';
import type { EvaluationView } from '../evaluation/evaluationList.ts';
import type { RunStore } from '../runStore.ts';
import type { RunView } from '../runView.ts';
import type { TooltipRow } from '../treeRow.ts';
import { isLivePipeline } from './pipelineState.ts';
import { StagePace } from './stagePace.ts';

interface Entry {
	readonly view: PipelineView;
	/** Of pipeline.json, so that an ended pipeline is read again only when it changed. */
	readonly stamp: string;
	/** What its stages that evaluate came to, by their folders. */
	readonly evaluations: ReadonlyMap<string, EvaluationView>;
}

type KnownRuns = Pick<RunStore, 'runs' | 'onDidChange' | 'expect'>;

/** How often pipelines at work are read again, and others inspected. */
const lookMs = 2000;

/** The pipelines around the runs that are known, and those that were started here. Found again by their folders alone. */
export class PipelineStore extends Disposable {
	readonly #store: KnownRuns;
	readonly #entries = new Map<string, Entry>();
	readonly #expected = new Set<string>();
	/** Folders that hold runs and are no pipelines. */
	readonly #others = new Set<string>();
	readonly #changed: Emitter<void>;
	readonly #pace = new StagePace();
	/** Loaded with the first pipeline. */
	#words: typeof import('./pipelinePresentation.ts') | null = null;
	#look: Promise<void> | null = null;
	#again = false;
	#timer: NodeJS.Timeout | null = null;

	constructor(store: KnownRuns, onError: (error: unknown) => void) {
		super();
		this.#store = store;
		this.#changed = this.register(new Emitter<void>(onError));
		this.register(store.onDidChange(() => void this.refresh()));
		this.register(
			toDisposable(() => {
				if (this.#timer !== null) clearTimeout(this.#timer);
			}),
		);
	}

	/** A pipeline came, went, or stands otherwise. */
	get onDidChange() {
		return this.#changed.event;
	}

	/** Newest first. */
	get pipelines(): readonly PipelineView[] {
		return [...this.#entries.values()]
			.map(({ view }) => view)
			.sort((a, b) => b.record.created - a.record.created || (a.folder < b.folder ? -1 : 1));
	}

	get(folder: string): PipelineView | undefined {
		return this.#entries.get(resolve(folder))?.view;
	}

	/** The pipeline that a stage's folder is in. */
	around(folder: string): PipelineView | undefined {
		return this.get(dirname(folder));
	}

	/** The stage that a folder is of. */
	stageAt(folder: string): StageView | undefined {
		return this.around(folder)?.stages.find(({ name }) => name === basename(folder));
	}

	/**
	 * A pipeline, or a stage of one, as a row; null: the folder is neither.
	 * @param now in seconds since the epoch
	 * @param run of the stage, where it has one
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

	/** What the stage in a folder has measured, where it is one that evaluates and has ended. */
	evaluationAt(folder: string): EvaluationView | undefined {
		return this.#entries.get(dirname(folder))?.evaluations.get(folder);
	}

	/** The first file of data that a stage has made; null: it has made none. */
	dataOf(folder: string): string | null {
		const state = this.around(folder)?.record.stages.find(({ name }) => name === basename(folder));
		const made = state?.outputs.find(({ path }) => path.startsWith('data/'));
		return made === undefined ? null : join(folder, ...made.path.split('/'));
	}

	#left({ folder, status, done, total }: StageView, now: number): number | null {
		if (status !== 'running' || done === null || total === null) return null;
		return this.#pace.left(folder, done, total, now);
	}

	/** Takes in a folder before it has any run. */
	async expect(folder: string): Promise<void> {
		this.#expected.add(resolve(folder));
		await this.refresh();
	}

	/** Looks at everything again; resolves when what was on disk at the call is there. */
	async refresh(): Promise<void> {
		if (this.disposed) return;
		if (this.#look !== null) {
			this.#again = true;
			return this.#look;
		}
		if (this.#timer !== null) clearTimeout(this.#timer);
		this.#look = this.#lookAtAll().finally(() => {
			this.#look = null;
			if (this.disposed) return;
			if (this.#entries.size > 0) this.#timer = setTimeout(() => void this.refresh(), lookMs);
		});
		return this.#look;
	}

	async #lookAtAll(): Promise<void> {
		do {
			this.#again = false;
			const folders = new Set([...this.#expected, ...this.#store.runs.map(({ folder }) => dirname(folder))]);
			let news = false;
			for (const folder of folders) if (!this.#others.has(folder)) news = (await this.#lookAt(folder)) || news;
			for (const folder of this.#entries.keys()) {
				if (folders.has(folder)) continue;
				this.#entries.delete(folder);
				news = true;
			}
			if (news && !this.disposed) this.#changed.fire();
		} while (this.#again && !this.disposed);
	}

	/** @returns whether there is news */
	async #lookAt(folder: string): Promise<boolean> {
		const entry = this.#entries.get(folder);
		if (entry === undefined && !(await isPipelineFolder(folder))) {
			// One that was told of may still be made.
			if (!this.#expected.has(folder)) this.#others.add(folder);
			return false;
		}
		const stat = await lstat(join(folder, pipelineFiles.record)).catch(() => null);
		const stamp = stat === null ? '' : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
		if (entry !== undefined && entry.stamp === stamp && !isLivePipeline(entry.view)) return false;
		try {
			// What reads recipes is loaded when there is a pipeline.
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

	/** The run of a stage that has just started is listed at once, not when it is next looked for. */
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

/** Evaluations of the stages that have ended. @param known those that were read before */
async function evaluationsIn(
	stages: readonly StageView[],
	known: ReadonlyMap<string, EvaluationView> | undefined,
): Promise<ReadonlyMap<string, EvaluationView>> {
	const found = new Map<string, EvaluationView>();
	for (const { type, status, folder, accuracy } of stages) {
		if (type !== 'evaluate' || status !== 'finished') continue;
		const before = known?.get(folder);
		const { evaluationAt } = await import('../evaluation/evaluationList.ts');
		// Its accuracy is that of pipeline.json: another one was rebuilt.
		const same = before?.accuracy?.accuracy === accuracy;
		const view = same ? (before ?? null) : await evaluationAt(folder);
		if (view !== null) found.set(folder, view);
	}
	return found;
}
