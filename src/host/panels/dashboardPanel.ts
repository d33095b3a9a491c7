import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import {
	type DashboardAction,
	type DashboardCommand,
	type DashboardEvent,
	dashboardCommandSchema,
	dashboardRequests,
} from '../../protocol/dashboardMessages.ts';
import { type CommandId, commandIds, panelTypes } from '../ids.ts';
import { displayText } from '../runView.ts';
import { DashboardSession } from './dashboardSession.ts';
import { type PanelContext, type RequestHandlers, RunPanel, RunPanels } from './panelBase.ts';

const app = {
	name: 'dashboard',
	viewType: panelTypes.dashboard,
	commands: dashboardCommandSchema,
	requests: dashboardRequests,
} as const;

const commandOf: Readonly<Record<DashboardAction, CommandId>> = {
	pause: commandIds.pauseRun,
	continue: commandIds.continueRun,
	stop: commandIds.stopRun,
	checkpoint: commandIds.saveCheckpoint,
	resume: commandIds.resumeRun,
	hyperparameters: commandIds.setHyperparameters,
	openLog: commandIds.openLog,
	openFolder: commandIds.openRunFolder,
};

/** Shows one run's metrics, live or not. */
export class DashboardPanel extends RunPanel<DashboardEvent, DashboardCommand, typeof dashboardRequests> {
	readonly #session: DashboardSession;
	protected readonly handlers: RequestHandlers<typeof dashboardRequests>;

	constructor(panel: vscode.WebviewPanel, context: PanelContext, runFolder: string) {
		super(panel, context, app, runFolder);
		this.#session = this.register(
			new DashboardSession(runFolder, {
				post: (event) => this.post(event),
				onName: (name) => {
					this.title = displayText(name, 60);
				},
			}),
		);
		this.handlers = {
			act: async ({ action }) => {
				await vscode.commands.executeCommand(commandOf[action], runFolder);
				// What was done shows in the run's files; do not wait for the next look at them.
				void this.#session.refresh();
				return {};
			},
			openRollouts: async ({ step }) => {
				const place = this.#session.rolloutStepFor(step);
				await vscode.commands.executeCommand(
					commandIds.openRollouts,
					runFolder,
					...(place === null ? [] : [{ step: place }]),
				);
				return {};
			},
			save: ({ name, kind, bytes }) => save(runFolder, name, kind, bytes),
		};
		this.load(context);
	}

	protected override onCommand(command: DashboardCommand): void {
		switch (command.type) {
			case 'ready':
			case 'resync':
				this.#session.begin();
				break;
			case 'fault':
				this.log.error(`dashboard: ${command.message}`);
				break;
		}
	}

	protected override onHidden(): void {
		this.#session.sleep();
	}
}

const filters = { png: { Pictures: ['png'] }, csv: { 'Comma-separated values': ['csv'] } };

/** Asks where to, beside the runs at first, and writes. */
async function save(
	runFolder: string,
	name: string,
	kind: 'png' | 'csv',
	bytes: Uint8Array,
): Promise<{ saved: boolean }> {
	// The name comes from the webview: a plain file name and nothing else.
	const plain = name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+/, '') || `export.${kind}`;
	const target = await vscode.window.showSaveDialog({
		defaultUri: vscode.Uri.joinPath(vscode.Uri.file(dirname(dirname(runFolder))), plain),
		filters: filters[kind],
		title: `Save ${plain}`,
	});
	if (!target) return { saved: false };
	try {
		await vscode.workspace.fs.writeFile(target, bytes);
	} catch (error) {
		throw new Failure('denied', `${target.fsPath} could not be written: ${String(error)}`, 'Choose another folder.');
	}
	return { saved: true };
}

/** The dashboards of the window, one per run. */
export class DashboardPanels extends RunPanels<DashboardPanel, undefined> {
	constructor(context: PanelContext) {
		super(context, panelTypes.dashboard);
	}

	protected override create(panel: vscode.WebviewPanel, runFolder: string): DashboardPanel {
		return new DashboardPanel(panel, this.context, runFolder);
	}

	protected override apply(): void {}
}
