import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import {
	type QueryCommand,
	type QueryEvent,
	queryCommandSchema,
	queryRequests,
	queryStateSchema,
} from '../../../protocol/queryMessages.ts';
import type { RolloutRef } from '../../../protocol/rolloutIndex.ts';
import type { TableExport } from '../../../protocol/tableExport.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import type { RunStore } from '../../runStore.ts';
import { displayText, nameOf } from '../../runView.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';
import { type KnownRun, type QueryIndex, type QueryPlace, QuerySession } from './querySession.ts';

const app = {
	name: 'query',
	viewType: panelTypes.query,
	commands: queryCommandSchema,
	requests: queryRequests,
} as const;

const title = 'Query Rollouts';
const historyKey = 'query.history';

export interface QueryPanelNeeds extends PanelContext {
	readonly rolloutIndex: QueryIndex;
	readonly store: RunStore;
	/** Workspace state that stores the query history. */
	readonly memory: vscode.Memento;
}

/** A panel that queries the rollout index, with a form or SQL. Read-only, except for exports. */
export class QueryPanel extends AppPanel<QueryEvent, QueryCommand, typeof queryRequests> {
	readonly #session: QuerySession;
	readonly #store: RunStore;
	protected readonly handlers: RequestHandlers<typeof queryRequests>;

	constructor(panel: vscode.WebviewPanel, needs: QueryPanelNeeds) {
		super(panel, needs, app);
		this.title = title;
		const { rolloutIndex, store, memory } = needs;
		const session = this.register(
			new QuerySession({
				rolloutIndex,
				runs: () => knownRuns(store),
				post: (event) => void this.post(event),
				history: {
					read: () => readHistory(memory),
					write: (history) => void memory.update(historyKey, history),
				},
			}),
		);
		this.#session = session;
		this.#store = store;
		this.register(store.onDidChange(() => void session.refresh()));
		this.handlers = {
			run: ({ id, question, statement, limit }) => session.run(id, question, statement, limit),
			side: ({ id, statement, limit }) => session.side(id, statement, limit),
			search: ({ id, question }) => session.search(id, question),
			export: async ({ id, statement, format, name }) => {
				const path = await askPath(name, format);
				if (path === null) return { saved: false, rows: 0, bytes: 0 };
				return { saved: true, ...(await session.export(id, statement, path, format)) };
			},
			save: async ({ name, text }) => {
				const path = await askPath(name, 'csv');
				if (path === null) return { saved: false };
				await writeFile(path, text).catch((error: unknown) => {
					throw Failure.from(error, `Cannot write ${path}`);
				});
				return { saved: true };
			},
			open: async ({ ref }) => {
				await openRollout(ref);
				return {};
			},
		};
		this.load(needs);
	}

	/** Enters a query in the view and runs it. */
	want(place: QueryPlace): void {
		for (const run of place.runs ?? []) this.#store.use(run);
		this.#session.want(place);
	}

	protected override onCommand(command: QueryCommand): void {
		switch (command.type) {
			case 'ready':
				this.#session.begin();
				break;
			case 'cancel':
				this.#session.cancel(command.id);
				break;
			case 'addRuns':
				void vscode.commands.executeCommand(commandIds.addRunFolder);
				break;
			case 'fault':
				this.log.error(`query: ${command.message}`);
				break;
		}
	}
}

/** Returns the readable runs, as listed in the view. */
function knownRuns(store: RunStore): KnownRun[] {
	return store.inUse
		.filter(({ record }) => record !== null)
		.map((view) => ({
			folder: view.folder,
			name: nameOf(view),
			format: view.record?.foreign?.format ?? 'reasoning-lab',
		}));
}

async function openRollout({ run, split, step, group, index }: RolloutRef): Promise<void> {
	await vscode.commands.executeCommand(commandIds.openRollouts, run, { split, step, group, index });
}

function readHistory(memory: vscode.Memento): string[] {
	const stored: unknown = memory.get(historyKey);
	return Array.isArray(stored) ? stored.filter((item) => typeof item === 'string') : [];
}

const filters = { csv: { 'Comma-separated values': ['csv'] }, parquet: { Parquet: ['parquet'] } };
let lastFolder: vscode.Uri | null = null;

/** Asks where to save, suggesting the folder of the last export or the workspace. Returns null if the user canceled. */
async function askPath(name: string, format: TableExport): Promise<string | null> {
	// The name comes from the webview; restrict it to a plain file name.
	const plain = name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+/, '') || `rollouts.${format}`;
	const folder = lastFolder ?? vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.file(homedir());
	const target = await vscode.window.showSaveDialog({
		defaultUri: vscode.Uri.joinPath(folder, plain),
		filters: filters[format],
		title: `Save ${plain}`,
	});
	if (!target) return null;
	if (target.scheme !== 'file') {
		throw new Failure(
			'unsupported',
			`${displayText(target.toString(), 200)} is not a file on this machine.`,
			'Choose another folder.',
		);
	}
	lastFolder = vscode.Uri.joinPath(target, '..');
	return target.fsPath;
}

/** Creates the panel set for the query view. There is one per window. */
export function queryPanels(needs: QueryPanelNeeds): PanelSet<QueryPanel, QueryPlace> {
	const want = (panel: QueryPanel, place: QueryPlace) => {
		if (place.sql !== undefined || place.runs !== undefined) panel.want(place);
		return panel;
	};
	return new PanelSet(needs.extensionUri, {
		viewType: panelTypes.query,
		what: 'this view',
		key: () => '',
		title: () => title,
		create: (panel, place) => want(new QueryPanel(panel, needs), place),
		reopen: want,
		restore(state) {
			decodeOrThrow(queryStateSchema, state, 'The saved view state');
			return {};
		},
	});
}
