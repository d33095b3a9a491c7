import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { Disposable, toDisposable } from '../base/disposable.ts';
import type { EvaluationStore } from './evaluation/evaluationStore.ts';
import { commandIds, viewIds } from './ids.ts';
import { isLivePipeline } from './pipelines/pipelineState.ts';
import type { PipelineStore } from './pipelines/pipelineStore.ts';
import { type RowOpener, registerRowCommand, rowCommand } from './rowCommand.ts';
import { presentOthers, presentRun, type RunPresentation } from './runPresentation.ts';
import type { RunStore } from './runStore.ts';
import { type Distinction, isLive, nameOf, type RunView, sharedNames } from './runView.ts';
import { rowTooltip, type TooltipRow, type TreeRow, treeRowItem } from './treeRow.ts';

/** ID of the group with runs in other folders; not a path. */
export const otherFoldersRow = 'otherFolders:';

/**
 * The *Runs* view: a native tree, newest first. Its elements are folders of runs and pipelines, with pipeline stages
 * and evaluations as children. Runs in other folders are in a collapsed group at the end. A window without its own runs
 * hides that group until the user asks for it, so that the view explains how to get started.
 */
export class RunsTree extends Disposable implements vscode.TreeDataProvider<string> {
	readonly #store: RunStore;
	readonly #pipelines: PipelineStore;
	readonly #evaluations: EvaluationStore;
	readonly #view: vscode.TreeView<string>;
	readonly #changed = new vscode.EventEmitter<string[] | undefined>();
	readonly #shown = new Map<string, Shown>();
	/** All rows as last read by the editor. */
	#order: readonly string[] = [];
	#shared: ReadonlyMap<string, Distinction> = new Map();
	#showsOthers = false;
	readonly onDidChangeTreeData = this.#changed.event;

	constructor(store: RunStore, pipelines: PipelineStore, evaluations: EvaluationStore) {
		super();
		this.#store = store;
		this.#pipelines = pipelines;
		this.#evaluations = evaluations;
		this.register(this.#changed);
		this.#view = this.register(
			vscode.window.createTreeView(viewIds.runs, { treeDataProvider: this, canSelectMany: true }),
		);
		this.register(registerRowCommand('runs', this.#view, (folder) => this.#openerOf(folder)));
		// Every step of a live run changes its text, and the editor would redraw all rows of its pipeline. Text changes
		// therefore wait for the timer that also updates elapsed times.
		const update = () => this.#update(this.#isAnyLive() ? 'states' : 'words');
		this.register(store.onDidChange(update));
		this.register(pipelines.onDidChange(update));
		this.register(evaluations.onDidChange(update));
		const clock = setInterval(() => {
			if (this.#view.visible && this.#isAnyLive()) this.#update();
		}, 1000);
		this.register(toDisposable(() => clearInterval(clock)));
	}

	#isAnyLive(): boolean {
		return this.#store.runs.some(isLive) || this.#pipelines.pipelines.some(isLivePipeline);
	}

	/** Folders selected in the view. */
	get selection(): readonly string[] {
		return this.#view.selection.filter((row) => row !== otherFoldersRow);
	}

	/** Shows the view and selects the run, if possible, without changing focus. */
	async reveal(folder: string): Promise<void> {
		if (this.#store.get(folder) === undefined && this.#pipelines.get(folder) === undefined) return;
		if (!this.#store.isOwn(folder)) this.#showsOthers = true;
		this.#update();
		for (let attempt = 0; attempt < 5 && !this.disposed; attempt++) {
			try {
				return await this.#view.reveal(folder, { select: true, focus: false });
			} catch {
				// The editor needs a moment to read a changed list.
				await new Promise((resolve) => setTimeout(resolve, 250));
			}
		}
	}

	/** Shows the group with runs in other folders even if the window has no runs. */
	async showOthers(): Promise<void> {
		this.#showsOthers = true;
		this.#update();
		const [first] = this.#rows('others');
		if (first !== undefined) await this.reveal(first);
	}

	getChildren(element?: string): string[] {
		if (element === undefined) {
			const top = this.#top();
			this.#order = this.#withChildren(top);
			return top;
		}
		if (element === otherFoldersRow) return this.#rows('others');
		const stages = this.#pipelines.get(element)?.stages;
		return stages?.map(({ folder }) => folder) ?? this.#evaluations.of(element).map(({ folder }) => folder);
	}

	getParent(element: string): string | undefined {
		// <run>/annotations/evaluations/<name>
		if (this.#evaluations.get(element) !== undefined) return dirname(dirname(dirname(element)));
		const pipeline = this.#pipelines.around(element)?.folder;
		if (pipeline !== undefined) return pipeline;
		return element === otherFoldersRow || this.#store.isOwn(element) ? undefined : otherFoldersRow;
	}

	getTreeItem(folder: string): vscode.TreeItem {
		const item = treeRowItem(folder, this.#rowOf(folder, Date.now() / 1000));
		const { Expanded, Collapsed } = vscode.TreeItemCollapsibleState;
		if (folder === otherFoldersRow) {
			item.collapsibleState = Collapsed;
			return item;
		}
		const pipeline = this.#pipelines.get(folder);
		if (pipeline !== undefined) {
			item.collapsibleState = isLivePipeline(pipeline) ? Expanded : Collapsed;
			return item;
		}
		if (this.#evaluations.of(folder).length > 0) item.collapsibleState = Collapsed;
		const opener = this.#openerOf(folder);
		if (opener !== null) item.command = rowCommand('runs', opener);
		return item;
	}

	/** Returns the command for a click, or null if there is nothing to open yet. */
	#openerOf(folder: string): RowOpener | null {
		const evaluated = this.#pipelines.evaluationAt(folder) ?? this.#evaluations.get(folder);
		if (evaluated !== undefined) {
			return { command: commandIds.showEvaluations, title: 'Show Evaluations', arguments: [folder] };
		}
		const stage = this.#pipelines.stageAt(folder);
		// The run of a stage that has just started might not be listed yet. In that case, opening it searches for the run.
		const trains = stage?.done != null && stage.type !== 'search' && stage.type !== 'evaluate';
		if (this.#runOf(folder) !== undefined || trains) {
			return { command: commandIds.openDashboard, title: 'Open Dashboard', arguments: [folder] };
		}
		if (stage?.type !== 'search' || stage.status !== 'finished') return null;
		const file = this.#pipelines.dataOf(folder);
		return file === null ? null : { command: commandIds.openDataset, title: 'Open Dataset', arguments: [file] };
	}

	/**
	 * Returns the run in a folder, or undefined if there is none or it belongs to a stage that has not been restarted.
	 */
	#runOf(folder: string): RunView | undefined {
		const status = this.#pipelines.stageAt(folder)?.status;
		return status === 'waiting' || status === 'skipped' ? undefined : this.#store.get(folder);
	}

	/** Returns the row for a folder, or null if the folder is unknown. */
	#rowOf(folder: string, now: number): TooltipRow | null {
		if (folder === otherFoldersRow) return presentOthers(this.#rows('others').length);
		const run = this.#runOf(folder);
		return (
			this.#pipelines.rowOf(folder, now, run) ??
			this.#evaluations.rowOf(folder, now) ??
			(run === undefined ? null : this.#present(run, now))
		);
	}

	#top(): string[] {
		const own = this.#rows('own');
		const shows = (own.length > 0 || this.#showsOthers) && this.#rows('others').length > 0;
		return shows ? [...own, otherFoldersRow] : own;
	}

	/** Returns the pipelines and the runs that do not belong to one, newest first. */
	#rows(whose: 'own' | 'others'): string[] {
		const fits = ({ folder }: { readonly folder: string }) => this.#store.isOwn(folder) === (whose === 'own');
		const runs = this.#store.runs
			.filter((run) => fits(run) && this.#pipelines.around(run.folder) === undefined)
			.map(({ folder, record }) => ({ folder, created: record?.created ?? 0 }));
		const pipelines = this.#pipelines.pipelines
			.filter(fits)
			.map(({ folder, record }) => ({ folder, created: record.created }));
		if (pipelines.length === 0) return runs.map(({ folder }) => folder);
		return [...pipelines, ...runs].sort((a, b) => b.created - a.created).map(({ folder }) => folder);
	}

	/** Creates tooltips on demand. */
	resolveTreeItem(item: vscode.TreeItem, folder: string): vscode.TreeItem {
		const row = this.#rowOf(folder, Date.now() / 1000);
		if (row !== null) item.tooltip = rowTooltip(row);
		return item;
	}

	/** Returns the rows, each followed by its children. */
	#withChildren(folders: readonly string[]): string[] {
		return folders.flatMap((folder) => [folder, ...this.#withChildren(this.getChildren(folder))]);
	}

	/**
	 * Redraws rows whose text or state has changed, and the list only if rows were added or removed. While the editor
	 * reads a list, the list has no rows, and an action clicked in the meantime would reach its command without an
	 * argument.
	 */
	#update(what: 'words' | 'states' = 'words'): void {
		const now = Date.now() / 1000;
		this.#shared = sharedNames(this.#store.runs);
		const order = this.#withChildren(this.#top());
		const changed = order.filter((folder) => {
			const row = this.#rowOf(folder, now);
			return row !== null && this.#remember(folder, row, what);
		});
		const sameOrder = order.length === this.#order.length && order.every((folder, i) => folder === this.#order[i]);
		this.#order = order;
		if (!sameOrder) {
			const known = new Set(order);
			for (const folder of this.#shown.keys()) if (!known.has(folder)) this.#shown.delete(folder);
			this.#changed.fire(undefined);
		} else if (changed.length > 0) {
			this.#changed.fire(changed);
		}
	}

	#present(view: RunView, now: number): RunPresentation {
		const distinction = this.#shared.get(nameOf(view));
		return presentRun(view, now, this.#store.isOwn(view.folder) ? distinction : 'project');
	}

	/** @returns whether the row's text has changed, or its state if `what` is 'states' */
	#remember(folder: string, { label, description, icon, contextValue }: TreeRow, what: 'words' | 'states'): boolean {
		const state = JSON.stringify([label, icon, contextValue]);
		const words = JSON.stringify([state, description]);
		const shown = this.#shown.get(folder);
		if (shown?.words === words || (what === 'states' && shown?.state === state)) return false;
		this.#shown.set(folder, { state, words });
		return true;
	}
}

/** A row's content when it was last drawn. */
interface Shown {
	readonly state: string;
	readonly words: string;
}
