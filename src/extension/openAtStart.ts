import type * as vscode from 'vscode';

const key = 'openedAtStart';

/**
 * Shows the run specified in the environment by `npm run demo` when the first window opens, but not again when the
 * window is reloaded.
 */
export function openAtStart(
	memory: vscode.Memento,
	show: (folder: string) => unknown,
	folder = process.env.REASONING_LAB_OPEN,
): void {
	if (!folder || memory.get(key) === folder) return;
	void memory.update(key, folder);
	show(folder);
}
