import * as vscode from 'vscode';

/**
 * Quick picks and input boxes for commands. They stay open when they lose focus. Otherwise, a command run from the
 * palette would show its prompt while the palette is closing, and a panel that regains focus at that moment would
 * close the prompt before the user sees it. Escape still closes them.
 */
const stays = { ignoreFocusOut: true } as const;

/** Shows a list of choices. Returns undefined if the user canceled. */
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

/** Shows an input box. Returns undefined if the user canceled. */
export function showInputBox(options: vscode.InputBoxOptions): Thenable<string | undefined> {
	return vscode.window.showInputBox({ ...options, ...stays });
}
