import type * as vscode from 'vscode';

const key = 'openedAtStart';

/**
 * `npm run demo` starts a run and names its folder in the editor's environment: that run is shown with the first window,
 * not again when the window is reloaded.
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
