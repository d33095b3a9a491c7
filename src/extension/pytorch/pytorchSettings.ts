import * as vscode from 'vscode';
import { type InstallerWish, installerWishes, type SetupChoices } from '../../environment/setup/setupPlan.ts';
import { deviceWishes } from '../../environment/setup/torchBuild.ts';
import { settingIds } from '../ids.ts';

function text(id: string): string {
	const value: unknown = vscode.workspace.getConfiguration().get(id);
	return typeof value === 'string' ? value.trim() : '';
}

/** Settings of the PyTorch engine, read when they are needed: a change holds from the next use. */
export const pytorchSettings = {
	/** A program or the folder of an environment; null: none is named. */
	python: (): string | null => text(settingIds.torchPython) || null,
	/** Where the managed environment lies; null: in the data folder. */
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
	/** Names another Python, for all windows of this machine; null: none. */
	async setPython(python: string | null): Promise<void> {
		const configuration = vscode.workspace.getConfiguration();
		const where = configuration.inspect<string>(settingIds.torchPython);
		// What a workspace says goes before what the user says.
		for (const [value, target] of [
			[where?.workspaceFolderValue, vscode.ConfigurationTarget.WorkspaceFolder],
			[where?.workspaceValue, vscode.ConfigurationTarget.Workspace],
		] as const) {
			if (value !== undefined) await configuration.update(settingIds.torchPython, undefined, target);
		}
		await configuration.update(settingIds.torchPython, python ?? undefined, vscode.ConfigurationTarget.Global);
	},
} as const;
