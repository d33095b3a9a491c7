import { userInfo } from 'node:os';
import * as vscode from 'vscode';
import type { BusyChoice } from '../protocol/recipe.ts';
import { settingIds } from './ids.ts';

export type NotifyRunEnd = 'always' | 'crash' | 'never';

/** The extension's settings, read when they are needed: a change holds from the next use. */
export const settings = {
	/** Node program for the engine; null: the editor's own. */
	nodePath(): string | null {
		return vscode.workspace.getConfiguration().get<string>(settingIds.nodePath)?.trim() || null;
	},
	whenBusy(): BusyChoice {
		return vscode.workspace.getConfiguration().get<string>(settingIds.whenBusy) === 'share' ? 'share' : 'queue';
	},
	showStatusBar(): boolean {
		return vscode.workspace.getConfiguration().get<boolean>(settingIds.showStatusBar) ?? true;
	},
	notifyRunEnd(): NotifyRunEnd {
		const value = vscode.workspace.getConfiguration().get<string>(settingIds.notifyRunEnd);
		return value === 'crash' || value === 'never' ? value : 'always';
	},
	/** Whether runs are inspected for what goes wrong. */
	diagnosis(): boolean {
		return vscode.workspace.getConfiguration().get<boolean>(settingIds.diagnosis) ?? true;
	},
	/** The name that ratings of this person carry: as set, else as the system knows the person. */
	rater(): string {
		const named = vscode.workspace.getConfiguration().get<string>(settingIds.rater)?.trim();
		return named || systemUser();
	},
	notifyAlerts(): boolean {
		return vscode.workspace.getConfiguration().get<boolean>(settingIds.notifyAlerts) ?? true;
	},
	onDidChangeDiagnosis(listener: () => void): vscode.Disposable {
		return vscode.workspace.onDidChangeConfiguration((event) => {
			if (event.affectsConfiguration(settingIds.diagnosis)) listener();
		});
	},
	/** From now on only crashes are notified, in all windows. */
	async notifyOnlyCrashes(): Promise<void> {
		const value: NotifyRunEnd = 'crash';
		await vscode.workspace.getConfiguration().update(settingIds.notifyRunEnd, value, vscode.ConfigurationTarget.Global);
	},
} as const;

function systemUser(): string {
	try {
		return userInfo().username || 'person';
	} catch {
		// A container may run under a number that has no name.
		return 'person';
	}
}
