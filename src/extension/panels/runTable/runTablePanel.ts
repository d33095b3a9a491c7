import * as vscode from 'vscode';
import {
	type RunTableCommand,
	type RunTableEvent,
	runTableCommandSchema,
	runTableRequests,
} from '../../../protocol/runTableMessages.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import type { RunStore } from '../../runStore.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';
import { RunTableSession } from './runTableSession.ts';

const app = {
	name: 'runTable',
	viewType: panelTypes.runTable,
	commands: runTableCommandSchema,
	requests: runTableRequests,
} as const;

export interface RunTableNeeds extends PanelContext {
	readonly store: RunStore;
}

const title = 'Runs';

/** Panel with a table of all known runs. Only reads files. */
class RunTablePanel extends AppPanel<RunTableEvent, RunTableCommand, typeof runTableRequests> {
	readonly #session: RunTableSession;
	protected readonly handlers: RequestHandlers<typeof runTableRequests> = {};

	constructor(panel: vscode.WebviewPanel, needs: RunTableNeeds) {
		super(panel, needs, app);
		this.title = title;
		this.#session = this.register(new RunTableSession({ store: needs.store, post: (event) => void this.post(event) }));
		this.load(needs);
	}

	protected override onCommand(command: RunTableCommand): void {
		switch (command.type) {
			case 'ready':
				void this.#session.begin();
				break;
			case 'open':
				void vscode.commands.executeCommand(commandIds.openDashboard, command.folder);
				break;
			case 'compare': {
				const [first, ...others] = command.folders.map((folder) => vscode.Uri.file(folder));
				void vscode.commands.executeCommand(commandIds.compareRuns, first, [first, ...others]);
				break;
			}
			case 'fault':
				this.log.error(`runTable: ${command.message}`);
				break;
		}
	}
}

/** Creates the panel set; there is one table per window. */
export function runTablePanels(needs: RunTableNeeds): PanelSet<RunTablePanel, null> {
	return new PanelSet<RunTablePanel, null>(needs.extensionUri, {
		viewType: panelTypes.runTable,
		what: 'the table of runs',
		key: () => '',
		title: () => title,
		create: (panel) => new RunTablePanel(panel, needs),
		restore: () => null,
	});
}
