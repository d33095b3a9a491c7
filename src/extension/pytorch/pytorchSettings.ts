import * as vscode from 'vscode';
import { type InstallerWish, installerWishes, type SetupChoices } from '../../environment/setup/setupPlan.ts';
import { deviceWishes } from '../../environment/setup/torchBuild.ts';
import { settingIds } from '../ids.ts';

function text(id: string): string {
	const value: unknown = vscode.workspace.getConfiguration().get(id);
	return typeof value === 'string' ? value.trim() : '';
}

/** PyTorch engine settings, read on each use so that changes take effect immediately. */
export const pytorchSettings = {
	/** Path of an executable or environment folder; null if not set. */
	python: (): string | null => text(settingIds.torchPython) || null,
	/** Folder of the managed environment; null for the data folder. */
	folder: (): string | null => text(settingIds.torchFolder) || null,
	choices(): SetupChoices {
		const list: unknown = vscode.workspace.getConfiguration().get(settingIds.pipArguments);
		const installer = text(settingIds.torchInstaller) as InstallerWish;
		return {
			device: deviceWishes.find((wish) => wish === text(settingIds.torchDevice)) ?? 'auto',
			installer: installerWishes.find((wish) => wish === installer) ?? 'auto',
			indexUrl: text(settingIds.indexUrl) || null,
			pipArguments: Array.isArray(list) ? list.filter((item) => typeof item === 'string') : [],
		};
	},
	/** Sets the Python interpreter for all windows on this machine; null clears the setting. */
	async setPython(python: string | null): Promise<void> {
		const configuration = vscode.workspace.getConfiguration();
		const where = configuration.inspect<string>(settingIds.torchPython);
		// The workspace setting overrides the user setting, so it must be changed as well.
		for (const [value, target] of [
			[where?.workspaceFolderValue, vscode.ConfigurationTarget.WorkspaceFolder],
			[where?.workspaceValue, vscode.ConfigurationTarget.Workspace],
		] as const) {
			if (value !== undefined) await configuration.update(settingIds.torchPython, undefined, target);
		}
		await configuration.update(settingIds.torchPython, python ?? undefined, vscode.ConfigurationTarget.Global);
	},
} as const;
