import * as vscode from 'vscode';
import { type RowCommandId, rowCommandIds } from './ids.ts';

/** Opens a row of a view. */
export interface RowOpener {
	readonly command: string;
	readonly title: string;
	readonly arguments: unknown[];
}

/**
 * Registers the command of a view's rows, which opens the selected row. The rows name it without arguments, because the
 * editor forgets a row's arguments as soon as the row is redrawn, and a click that arrives before the redrawn row is on
 * screen would open nothing.
 */
export function registerRowCommand<Row>(
	id: RowCommandId,
	view: Pick<vscode.TreeView<Row>, 'selection'>,
	openerOf: (row: Row) => RowOpener | null,
): vscode.Disposable {
	return vscode.commands.registerCommand(rowCommandIds[id], async () => {
		const [row] = view.selection;
		const opener = row === undefined ? null : openerOf(row);
		if (opener !== null) await vscode.commands.executeCommand(opener.command, ...opener.arguments);
	});
}

/** Returns the command for a row's tree item. */
export function rowCommand(id: RowCommandId, { title }: RowOpener): vscode.Command {
	return { command: rowCommandIds[id], title };
}
