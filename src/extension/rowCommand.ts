import * as vscode from 'vscode';
import { type RowCommandId, rowCommandIds } from './ids.ts';

/** Opens a row in a view. */
export interface RowOpener {
	readonly command: string;
	readonly title: string;
	readonly arguments: unknown[];
}

/**
 * Registers the command that opens the selected row in a view. Rows refer to it without arguments, because the editor
 * discards a row's arguments when the row is redrawn, and a click that arrives before the redraw is visible would have
 * no effect.
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
