import * as vscode from 'vscode';

/**
 * The lists and lines that commands ask with. They stay open when something else takes the focus: a command that is run
 * from the palette asks while the palette closes, and the panel beside it takes the focus back just then, which would close
 * the question before anybody has seen it. Escape closes them.
 */
const stays = { ignoreFocusOut: true } as const;

/** A list to choose from; undefined: the user canceled. */
export function showQuickPick<T extends vscode.QuickPickItem>(
	items: readonly T[] | Thenable<readonly T[]>,
	options: vscode.QuickPickOptions & { canPickMany: true },
): Thenable<T[] | undefined>;
export function showQuickPick<T extends vscode.QuickPickItem>(
	items: readonly T[] | Thenable<readonly T[]>,
	options: vscode.QuickPickOptions,
): Thenable<T | undefined>;
export function showQuickPick(items: readonly string[], options: vscode.QuickPickOptions): Thenable<string | undefined>;
export function showQuickPick(
	items: readonly (vscode.QuickPickItem | string)[] | Thenable<readonly vscode.QuickPickItem[]>,
	options: vscode.QuickPickOptions,
): Thenable<unknown> {
	return vscode.window.showQuickPick(items as readonly vscode.QuickPickItem[], { ...options, ...stays });
}

/** A line of text; undefined: the user canceled. */
export function showInputBox(options: vscode.InputBoxOptions): Thenable<string | undefined> {
	return vscode.window.showInputBox({ ...options, ...stays });
}
