import { userInfo } from 'node:os';
import * as vscode from 'vscode';
import type { BusyChoice } from '../protocol/recipeKeys/recipe.ts';
import { settingIds } from './ids.ts';

export type NotifyRunEnd = 'always' | 'crash' | 'never';

/** Extension settings. Values are read on each access, so changes apply immediately. */
export const settings = {
	/** Path to the Node.js executable for the engine, or null to use the one bundled with VS Code. */
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
	/** Whether to diagnose problems in runs. */
	diagnosis(): boolean {
		return vscode.workspace.getConfiguration().get<boolean>(settingIds.diagnosis) ?? true;
	},
	/** Name attached to this user's ratings: the configured name, or the system user name by default. */
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
	/** Limits notifications to crashes, in all windows. */
	async notifyOnlyCrashes(): Promise<void> {
		const value: NotifyRunEnd = 'crash';
		await vscode.workspace.getConfiguration().update(settingIds.notifyRunEnd, value, vscode.ConfigurationTarget.Global);
	},
} as const;

function systemUser(): string {
	try {
		return userInfo().username || 'person';
	} catch {
		// In a container, the user ID might not map to a user name.
		return 'person';
	}
}
