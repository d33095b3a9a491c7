import { isAbsolute, normalize } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { comparedRuns } from '../../../protocol/comparedRuns.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import {
	type ComparisonCommand,
	type ComparisonEvent,
	comparisonCommandSchema,
	comparisonRequests,
	comparisonStateSchema,
} from '../../../protocol/runComparisonMessages.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import { displayText } from '../../runView.ts';
import { AppPanel, type PanelContext, type RequestHandlers, webviewOptions } from '../panelBase.ts';
import { messageHtml } from '../webviewHtml.ts';
import { RunComparisonSession } from './runComparisonSession.ts';

const app = {
	name: 'comparison',
	viewType: panelTypes.comparison,
	commands: comparisonCommandSchema,
	requests: comparisonRequests,
} as const;

/** Shows two to eight runs against each other, live or not. */
export class RunComparisonPanel extends AppPanel<ComparisonEvent, ComparisonCommand, typeof comparisonRequests> {
	readonly folders: readonly string[];
	readonly #session: RunComparisonSession;
	protected readonly handlers: RequestHandlers<typeof comparisonRequests>;

	constructor(panel: vscode.WebviewPanel, context: PanelContext, folders: readonly string[]) {
		super(panel, context, app);
		this.folders = folders;
		const session = this.register(
			new RunComparisonSession({
				folders,
				post: (event) => this.post(event),
				onNames: (names) => {
					this.title = titleOf(names);
				},
			}),
		);
		this.#session = session;
		this.handlers = {
			recipes: () => session.recipes(),
			openRecipes: async ({ first, second }) => {
				const [left, right] = await Promise.all([first, second].map((run) => session.recipeText(run)));
				const names = [first, second].map((run) => displayText(session.name(run), 60));
				await context.documents.compare(
					{ name: `recipe of ${names[0]}.json`, content: left ?? '' },
					{ name: `recipe of ${names[1]}.json`, content: right ?? '' },
				);
				return {};
			},
			heldOut: () => session.heldOut(),
			pair: ({ first, second }) => session.pair(first, second),
			prompts: ({ all }) => session.searchPrompts(all),
			prompt: ({ hash, steps }) => session.showPrompt(hash, steps),
			openRollouts: async ({ run, ...place }) => {
				await vscode.commands.executeCommand(commandIds.openRollouts, session.folder(run), place);
				return {};
			},
		};
		this.load(context);
	}

	protected override onCommand(command: ComparisonCommand): void {
		switch (command.type) {
			case 'ready':
				this.#session.begin();
				break;
			case 'choose':
				void vscode.commands.executeCommand(commandIds.compareRuns);
				break;
			case 'openDashboard':
				void vscode.commands.executeCommand(commandIds.openDashboard, this.#session.folder(command.run));
				break;
			case 'cancelPrompts':
				this.#session.cancelPrompts();
				break;
			case 'fault':
				this.log.error(`comparison: ${command.message}`);
				break;
		}
	}
}

/** The comparisons of the window: one for each set of runs, in the order in which they were chosen. */
export class RunComparisonPanels implements vscode.WebviewPanelSerializer, vscode.Disposable {
	readonly #context: PanelContext;
	readonly #panels = new Map<string, RunComparisonPanel>();

	constructor(context: PanelContext) {
		this.#context = context;
	}

	/** The panel of these runs: the one that is open, or a new one. */
	open(folders: readonly string[]): void {
		const chosen = [...new Set(folders.map((folder) => normalize(folder)))].slice(0, comparedRuns.most);
		const open = this.#panels.get(keyOf(chosen));
		if (open !== undefined) {
			open.reveal();
			return;
		}
		const panel = vscode.window.createWebviewPanel(
			panelTypes.comparison,
			'Comparison',
			vscode.ViewColumn.Active,
			webviewOptions(this.#context.extensionUri),
		);
		this.#adopt(panel, chosen);
	}

	async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
		try {
			const { folders } = decodeOrThrow(comparisonStateSchema, state, 'The saved state of the view');
			if (!folders.every((folder) => isAbsolute(folder) && normalize(folder) === folder)) {
				throw new Failure('invalid', 'The saved state of the view has no absolute paths.', 'Compare the runs again.');
			}
			if (this.#panels.has(keyOf(folders))) panel.dispose();
			else this.#adopt(panel, folders);
		} catch (error) {
			panel.webview.html = messageHtml('Cannot show this comparison', Failure.from(error).toString());
		}
	}

	dispose(): void {
		for (const panel of [...this.#panels.values()]) panel.dispose();
	}

	#adopt(webviewPanel: vscode.WebviewPanel, folders: readonly string[]): void {
		const key = keyOf(folders);
		this.#panels.set(key, new RunComparisonPanel(webviewPanel, this.#context, folders));
		webviewPanel.onDidDispose(() => this.#panels.delete(key));
	}
}

const keyOf = (folders: readonly string[]): string => JSON.stringify(folders.toSorted());

function titleOf(names: readonly string[]): string {
	const [first = '', second = '', ...more] = names.map((name) => displayText(name, 30));
	return `Compare: ${first}, ${second}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}
