import * as vscode from 'vscode';
import { CommandTable } from '../commandTable.ts';
import { Notices } from '../notices.ts';
import type { PanelContext } from '../panels/panelBase.ts';
import { ReadOnlyDocuments } from '../readOnlyDocuments.ts';

/** What every area of the extension uses. */
export interface WindowServices {
	readonly context: vscode.ExtensionContext;
	/** Ties an object's life to the extension's. */
	keep<T extends vscode.Disposable>(item: T): T;
	/** The folder of the extension. */
	readonly extension: vscode.Uri;
	/** The extension's storage for all workspaces. */
	readonly storage: vscode.Uri;
	readonly log: vscode.LogOutputChannel;
	readonly notices: Notices;
	readonly documents: ReadOnlyDocuments;
	/** The commands, which every area adds to. */
	readonly table: CommandTable;
	readonly panels: PanelContext;
	readonly version: string;
	/** What an engine's log calls this extension. */
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
	const { extensionUri: extension, globalStorageUri: storage } = context;
	const { version } = context.extension.packageJSON as { version: string };
	return {
		...{ context, keep, extension, storage, log, notices, documents, version },
		table: keep(new CommandTable(notices)),
		panels: { extensionUri: extension, log, documents },
		client: `Reasoning Lab ${version}`,
	};
}
