import { type FSWatcher, watch } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import * as vscode from 'vscode';
import { toDisposable } from '../../../base/disposable.ts';
import type { Event } from '../../../base/event.ts';
import { Failure } from '../../../base/failure.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import type { SearchParams } from '../../../protocol/searchWorker.ts';
import type { SearchBudget } from '../../../protocol/treeLog.ts';
import {
	type TreeViewCommand,
	type TreeViewEvent,
	treeStateSchema,
	treeViewCommandSchema,
} from '../../../protocol/treeMessages.ts';
import { panelTypes } from '../../ids.ts';
import { showError } from '../../plainMessages.ts';
import { displayText } from '../../runView.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';
import type { TreeFileReader } from './treeFeed.ts';
import { TreeSession } from './treeSession.ts';

/** What a panel shows: a log, one of its trees, and optionally another log for comparison. */
export interface TreePlace {
	readonly path: string;
	readonly tree?: number;
	readonly other?: string | null;
	/** Node to select. */
	readonly node?: number;
}

export type SearchAction = SearchParams<'continue'>['action'];

/** Actions that a tree panel delegates. */
export interface TreeActions {
	/** Continues the search in a log, asking for a budget unless one is given. Resolves to false if the user canceled. */
	goOn(log: string, action: SearchAction, budget?: SearchBudget): Promise<boolean>;
	prune(log: string, node: number, restore: boolean): Promise<void>;
	stop(log: string): Promise<void>;
	/** Asks for another log to compare with. Returns null if the user canceled. */
	chooseOther(log: string): Promise<string | null>;
	readonly reader: TreeFileReader;
	running(log: string): boolean | Promise<boolean>;
	/** Returns why continuing is disabled in this window, or null if it is enabled. */
	forbidden(): string | null;
	/** Fires when a search starts, continues, or ends. */
	readonly onChanged: Event<void>;
}

const app = { name: 'tree', viewType: panelTypes.tree, commands: treeViewCommandSchema, requests: {} } as const;

/** Minimum interval between checks of a growing log, in milliseconds. */
const pauseMs = 120;
/**
 * Interval between periodic checks, because folder events are not reliable and do not report when searches in other
 * windows end.
 */
const lookEveryMs = 3000;
const exportNames = { svg: 'SVG', png: 'PNG', json: 'JSON', mermaid: 'Mermaid' } as const;
const exportEndings = { svg: 'svg', png: 'png', json: 'json', mermaid: 'mmd' } as const;
const largestExport = 256 << 20;

/** A panel that shows the tree in a log and follows it as it grows. */
export class TreePanel extends AppPanel<TreeViewEvent, TreeViewCommand, Record<string, never>> {
	readonly path: string;
	readonly #session: TreeSession;
	readonly #actions: TreeActions;
	readonly #watchers = new Map<string, FSWatcher>();
	#timer: NodeJS.Timeout | undefined;

	constructor(panel: vscode.WebviewPanel, context: PanelContext, actions: TreeActions, place: TreePlace) {
		super(panel, context, app);
		this.path = place.path;
		this.#actions = actions;
		this.title = titleOf(place.path);
		this.#session = this.register(
			new TreeSession({
				path: place.path,
				tree: place.tree ?? 0,
				other: place.other ?? null,
				post: (event) => this.post(event),
				reader: actions.reader,
				running: (log) => actions.running(log),
				forbidden: () => actions.forbidden(),
				onTitle: (title) => {
					this.title = `Tree: ${title.slice(0, 60)}`;
				},
			}),
		);
		this.register(actions.onChanged(() => this.#soon()));
		this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#soon()));
		const clock = setInterval(() => this.listening && this.#soon(), lookEveryMs);
		this.register(
			toDisposable(() => {
				clearInterval(clock);
				clearTimeout(this.#timer);
				for (const watcher of this.#watchers.values()) watcher.close();
			}),
		);
		if (place.node !== undefined) this.show(place.node);
		this.#follow();
		this.load(context);
	}

	protected readonly handlers: RequestHandlers<Record<string, never>> = {};

	/** Shows another tree in the file. */
	choose(tree: number): void {
		if (tree !== this.#session.tree) this.#settle(this.#session.choose(tree));
	}

	/** Selects a node, immediately or once the app has started. */
	show(node: number): void {
		this.#settle(this.#session.show(node));
	}

	/** Shows another log for comparison. */
	compare(other: string): void {
		this.#settle(this.#compare(other));
	}

	protected override onCommand(command: TreeViewCommand): void {
		const { path } = this;
		switch (command.type) {
			case 'ready':
				this.#settle(this.#session.begin());
				break;
			case 'again':
				this.#settle(this.#session.look());
				break;
			case 'choose':
				this.#settle(this.#session.choose(command.tree));
				break;
			case 'wantText':
				this.#settle(this.#session.wantText(command.side, command.id));
				break;
			case 'branch':
				this.#settle(this.#actions.goOn(path, { kind: 'branch', node: command.node }));
				break;
			case 'edit':
				this.#settle(this.#actions.goOn(path, { kind: 'edit', node: command.node, text: command.text }));
				break;
			case 'force': {
				const { node, token, text } = command;
				this.#settle(this.#actions.goOn(path, { kind: 'force', node, token, text }));
				break;
			}
			case 'prune':
				this.#settle(this.#actions.prune(path, command.node, command.restore));
				break;
			case 'more':
				this.#settle(this.#actions.goOn(path, { kind: 'more' }, command.budget));
				break;
			case 'stop':
				this.#settle(this.#actions.stop(path));
				break;
			case 'compare':
				this.#settle(
					this.#actions.chooseOther(path).then((other) => (other === null ? undefined : this.#compare(other))),
				);
				break;
			case 'closeOther':
				this.#settle(this.#compare(null));
				break;
			case 'export':
				this.#settle(this.#export(command.format, command.content));
				break;
			case 'copy':
				this.#settle(vscode.env.clipboard.writeText(command.text));
				break;
			case 'openLog':
				this.#settle(vscode.window.showTextDocument(vscode.Uri.file(path), { preview: true }));
				break;
			case 'fault':
				this.log.error(`tree: ${command.message}`);
				break;
		}
	}

	#settle(work: Thenable<unknown>): void {
		work.then(undefined, (error: unknown) => {
			const failure = Failure.from(error);
			if (failure.reason === 'cancelled') return;
			this.log.warn(failure.toString());
			showError(failure.toString());
		});
	}

	async #compare(other: string | null): Promise<void> {
		await this.#session.compare(other);
		this.#follow();
	}

	async #export(format: keyof typeof exportNames, content: string): Promise<void> {
		if (content.length > largestExport) throw new Failure('unsupported', 'The image is too large to save.');
		const name = `${basename(this.path).replace(/\.jsonl?$/, '')}.${exportEndings[format]}`;
		const target = await vscode.window.showSaveDialog({
			defaultUri: vscode.Uri.file(join(dirname(this.path), name)),
			filters: { [exportNames[format]]: [exportEndings[format]] },
			title: `Save the tree as ${exportNames[format]}`,
		});
		if (target === undefined) return;
		const bytes = format === 'png' ? Buffer.from(content, 'base64') : Buffer.from(content, 'utf8');
		await vscode.workspace.fs.writeFile(target, bytes);
	}

	/** Watches the containing folders, because files are often replaced. */
	#follow(): void {
		const folders = new Set(this.#session.paths.map((path) => dirname(path)));
		for (const [folder, watcher] of this.#watchers) {
			if (folders.has(folder)) continue;
			watcher.close();
			this.#watchers.delete(folder);
		}
		for (const folder of folders) {
			if (this.#watchers.has(folder)) continue;
			try {
				const watcher = watch(folder, { persistent: false }, (_event, changed) => {
					const shown = this.#session.paths.some((path) => basename(path) === changed);
					if (changed === null || shown) this.#soon();
				});
				watcher.on('error', (error) => this.log.warn(`Stopped watching ${folder}: ${String(error)}`));
				this.#watchers.set(folder, watcher);
			} catch (error) {
				// Periodic checks still detect changes.
				this.log.warn(`Cannot watch ${folder}: ${String(error)}`);
			}
		}
	}

	#soon(): void {
		if (this.#timer !== undefined || this.disposed) return;
		this.#timer = setTimeout(() => {
			this.#timer = undefined;
			this.#settle(this.#session.look());
		}, pauseMs);
	}
}

/** Validates a path from a saved state, like any untrusted path. */
async function requireFile(path: string): Promise<void> {
	if (!isAbsolute(path) || normalize(path) !== path) {
		throw new Failure('invalid', 'The path in the saved view state is not absolute.', 'Open the tree again.');
	}
	if ((await lstat(path).catch(() => null))?.isFile()) return;
	throw new Failure('missing', `${path} no longer exists.`, 'Open another tree from the Searches view.');
}

function titleOf(path: string): string {
	return `Tree: ${displayText(basename(path).replace(/\.jsonl?$/, ''), 60)}`;
}

/** Creates the panel set for trees, with one panel per log. */
export function treePanels(context: PanelContext, actions: TreeActions): PanelSet<TreePanel, TreePlace> {
	return new PanelSet<TreePanel, TreePlace>(context.extensionUri, {
		viewType: panelTypes.tree,
		what: 'this tree',
		key: ({ path }) => normalize(path),
		title: ({ path }) => titleOf(normalize(path)),
		create: (panel, place) => new TreePanel(panel, context, actions, { ...place, path: normalize(place.path) }),
		reopen(panel, { tree, other, node }) {
			if (other) panel.compare(other);
			if (tree !== undefined) panel.choose(tree);
			if (node !== undefined) panel.show(node);
		},
		async restore(state) {
			const { path, tree, other } = decodeOrThrow(treeStateSchema, state, 'The saved view state');
			await requireFile(path);
			const isThere =
				other !== null &&
				(await requireFile(other).then(
					() => true,
					() => false,
				));
			return { path, tree, other: isThere ? other : null };
		},
	});
}
