import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import { formatCounted } from '../../../base/format.ts';
import { type DatasetBlock, fileBlock, oneLine, taskBlock } from '../../../core/dataset/table/recipeBlock.ts';
import {
	type DatasetCommand,
	type DatasetEvent,
	datasetCommandSchema,
	datasetRequests,
} from '../../../protocol/datasetMessages.ts';
import { openTable, tableExtensions } from '../../../runs/dataset/openTable.ts';
import { TaskTable } from '../../../runs/dataset/taskTable.ts';
import { viewTypes } from '../../ids.ts';
import { showError } from '../../plainMessages.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { exportName, taskLabel, taskOfQuery, taskScheme } from './datasetPlace.ts';
import { DatasetSession } from './datasetSession.ts';
import { askDifficulty, type DifficultyNeeds } from './difficulty.ts';
import { pathFrom, useInRecipe } from './useInRecipe.ts';

const app = {
	name: 'dataset',
	viewType: viewTypes.dataset,
	commands: datasetCommandSchema,
	requests: datasetRequests,
} as const;

interface DatasetNeeds extends DifficultyNeeds {
	/** Rows to show in new editors, by URI. Each entry is used by the first editor opened for its URI. */
	readonly rows: Map<string, number>;
}

/** An editor for the rows of a file, a folder of files, or a generated task. Read-only except for exports. */
export class DatasetPanel extends AppPanel<DatasetEvent, DatasetCommand, typeof datasetRequests> {
	readonly uri: vscode.Uri;
	readonly session: DatasetSession;
	readonly #needs: DifficultyNeeds;

	constructor(panel: vscode.WebviewPanel, context: PanelContext, uri: vscode.Uri, needs: DatasetNeeds) {
		super(panel, context, app);
		this.#needs = needs;
		this.uri = uri;
		const isTask = uri.scheme === taskScheme;
		const place = isTask ? taskOfQuery(uri.query) : null;
		this.session = this.register(
			new DatasetSession({
				label: place === null ? vscode.workspace.asRelativePath(uri) : taskLabel(place),
				name: place === null ? basename(uri.fsPath) : place.task.task,
				open: async () =>
					place === null ? await openTable(fileOf(uri)) : new TaskTable(place.task, place.rows, place.seed),
				post: (snapshot) => void this.post(snapshot),
			}),
		);
		const { session } = this;
		const row = needs.rows.get(uri.toString());
		needs.rows.delete(uri.toString());
		if (row !== undefined) session.revealRow(row);
		this.handlers = {
			rows: ({ version, view, from, to }) => session.rows(version, view, from, to),
			row: ({ version, row }) => session.row(version, row),
		};
		if (uri.scheme === 'file') this.#follow(uri.fsPath);
		this.load(context);
	}

	protected readonly handlers: RequestHandlers<typeof datasetRequests>;

	override restoreState(): void {
		// Otherwise, the page would open the row again after it restarts.
		this.session.forgetRevealed();
		super.restoreState();
	}

	protected override onCommand(command: DatasetCommand): void {
		const { session } = this;
		switch (command.type) {
			case 'ready':
				void session.begin();
				break;
			case 'again':
				void session.again();
				break;
			case 'show':
				void session.show(command.filter, command.sort);
				break;
			case 'map':
				void session.map(command.mapping);
				break;
			case 'share':
				void session.setShare(command.share);
				break;
			case 'statistics':
				void session.computeStatistics();
				break;
			case 'cancel':
				void session.cancel(command.what);
				break;
			case 'useInRecipe':
				this.#settle(useInRecipe((recipe) => this.#block(recipe)));
				break;
			case 'copyRecipe':
				this.#settle(this.#copyRecipe());
				break;
			case 'addTests':
				this.#settle(this.#addTests());
				break;
			case 'removeTests':
				void session.removeTests();
				break;
			case 'difficulty':
				this.#settle(askDifficulty(session, this.uri, this.#needs));
				break;
			case 'export':
				this.#settle(this.#export());
				break;
			case 'openText':
				this.#settle(vscode.commands.executeCommand('vscode.openWith', this.uri, 'default'));
				break;
			case 'copy':
				this.#settle(vscode.env.clipboard.writeText(command.text));
				break;
			case 'forgetNotice':
				session.forgetNotice();
				break;
			case 'fault':
				this.log.error(`dataset: ${command.message}`);
				break;
		}
	}

	#block(recipe: string): DatasetBlock {
		if (this.uri.scheme === taskScheme) return taskBlock(taskOfQuery(this.uri.query).task);
		return fileBlock(pathFrom(recipe, this.uri.fsPath), this.session.mapping, this.session.share);
	}

	async #copyRecipe(): Promise<void> {
		const folder = vscode.workspace.getWorkspaceFolder(this.uri)?.uri.fsPath ?? dirname(this.uri.fsPath);
		await vscode.env.clipboard.writeText(`"dataset": ${oneLine(this.#block(join(folder, 'a.recipe.json')))}`);
		this.session.say('Copied. Paste it into a recipe.');
	}

	async #addTests(): Promise<void> {
		const chosen = await vscode.window.showOpenDialog({
			title: 'Select test sets to check for overlap',
			openLabel: 'Find Overlaps',
			canSelectMany: true,
			filters: { 'Dataset files': [...tableExtensions] },
		});
		if (chosen !== undefined) await this.session.addTests(chosen.map(({ fsPath }) => fsPath));
	}

	async #export(): Promise<void> {
		const name = exportName(this.uri.scheme === 'file' ? this.uri.fsPath : this.uri.path);
		const folder =
			this.uri.scheme === 'file'
				? vscode.Uri.file(dirname(this.uri.fsPath))
				: vscode.workspace.workspaceFolders?.[0]?.uri;
		// The dialog asks for confirmation before an existing file is chosen.
		const chosen = await vscode.window.showSaveDialog({
			title: `Export ${formatCounted(this.session.shownRows, 'row')}`,
			saveLabel: 'Export',
			filters: { 'JSON Lines': ['jsonl'] },
			...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
		});
		if (chosen === undefined) return;
		if (chosen.fsPath === this.uri.fsPath) {
			throw new Failure('invalid', 'Cannot export to the file that the rows come from.', 'Choose a different file.');
		}
		const { rows, leftOut } = await this.session.exportTo(chosen.fsPath, true);
		const left = leftOut === 0 ? '' : ` Skipped ${formatCounted(leftOut, 'unreadable row')}.`;
		this.session.say(`Wrote ${formatCounted(rows, 'row')} to ${basename(chosen.fsPath)}.${left}`);
	}

	#settle(work: Thenable<unknown>): void {
		work.then(undefined, (error: unknown) => {
			const failure = Failure.from(error);
			if (failure.reason === 'cancelled') return;
			this.log.warn(String(error));
			showError(failure.toString());
		});
	}

	/**
	 * Watches the containing folder, because editors often replace files. For a folder dataset, all of its Parquet or
	 * Arrow files are watched.
	 */
	#follow(path: string): void {
		const name = basename(path);
		this.#watch(dirname(path), (changed) => changed === name);
		void stat(path).then(
			(info) => info.isDirectory() && this.#watch(path, (changed) => /\.(parquet|arrow)$|^state\.json$/i.test(changed)),
			() => undefined,
		);
	}

	#watch(folder: string, concerns: (name: string) => boolean): void {
		if (this.disposed) return;
		let watcher: FSWatcher;
		try {
			watcher = watch(folder, { persistent: false }, (_event, changed) => {
				if (changed !== null && concerns(changed)) this.session.markStale();
			});
		} catch (error) {
			this.log.warn(`Cannot watch ${folder}: ${String(error)}`);
			return;
		}
		watcher.on('error', (error) => this.log.warn(`Stopped watching ${folder}: ${String(error)}`));
		this.register(toDisposable(() => watcher.close()));
	}
}

function fileOf(uri: vscode.Uri): string {
	if (uri.scheme === 'file') return uri.fsPath;
	throw new Failure('unsupported', 'The document is not a file on this machine.', 'Save it to disk first.');
}
