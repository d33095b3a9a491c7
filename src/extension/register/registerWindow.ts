import * as vscode from 'vscode';
import { CommandTable } from '../commandTable.ts';
import { commandIds, walkthroughId } from '../ids.ts';
import { Notices } from '../notices.ts';
import { OpenViews } from '../openViews.ts';
import type { PanelContext } from '../panels/panelBase.ts';
import { ReadOnlyDocuments } from '../readOnlyDocuments.ts';

/** Services used by every area of the extension. */
export interface WindowServices {
	readonly context: vscode.ExtensionContext;
	/** Disposes of an object along with the extension. */
	keep<T extends vscode.Disposable>(item: T): T;
	/** The extension's folder. */
	readonly extension: vscode.Uri;
	/** The extension's global storage. */
	readonly storage: vscode.Uri;
	readonly log: vscode.LogOutputChannel;
	readonly notices: Notices;
	readonly documents: ReadOnlyDocuments;
	/** Command table that every area adds its commands to. */
	readonly table: CommandTable;
	readonly panels: PanelContext;
	readonly version: string;
	/** Name of this extension in engine logs. */
	readonly client: string;
}

export function registerWindow(context: vscode.ExtensionContext): WindowServices {
	const keep = <T extends vscode.Disposable>(item: T): T => {
		context.subscriptions.push(item);
		return item;
	};
	const log = keep(vscode.window.createOutputChannel('Reasoning Lab', { log: true }));
	const notices = keep(new Notices(log));
	const documents = keep(new ReadOnlyDocuments());
	const table = keep(new CommandTable(notices));
	table.add(commandIds.openWalkthrough, () =>
		vscode.commands.executeCommand('workbench.action.openWalkthrough', walkthroughId, false),
	);
	const { extensionUri: extension, globalStorageUri: storage } = context;
	const { version } = context.extension.packageJSON as { version: string };
	return {
		...{ context, keep, extension, storage, log, notices, documents, version },
		table,
		panels: { extensionUri: extension, log, documents, views: new OpenViews() },
		client: `Reasoning Lab ${version}`,
	};
}
