import { chmod } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type * as vscode from 'vscode';
import { ensureFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { readSmallFile } from '../files/safeFile.ts';
import { commandName, commandScripts } from './commandScripts.ts';

/** Folder of the scripts in the extension's global storage, whose path stays the same across updates. */
const folderName = 'bin';
const largestScript = 64 << 10;

/**
 * Makes the command line available as `reasoning-lab` in the editor's terminals, and so to agents running in them.
 * Other installations on PATH take precedence.
 */
export async function offerTerminalCommand({
	extensionUri,
	globalStorageUri,
	environmentVariableCollection: variables,
}: vscode.ExtensionContext): Promise<void> {
	const folder = join(globalStorageUri.fsPath, folderName);
	const program = {
		node: process.execPath,
		electron: process.versions.electron !== undefined,
		cli: join(extensionUri.fsPath, 'dist', 'cli.js'),
	};
	await ensureFolder(folder);
	for (const [name, text] of commandScripts(program, process.platform === 'win32')) {
		const path = join(folder, name);
		if ((await readSmallFile(folder, name, largestScript).catch(() => null)) === text) continue;
		// Written atomically, because another window may be running the script.
		await writeFileAtomic(path, text, { mode: 0o755 });
		// The mode above is subject to the user's umask.
		await chmod(path, 0o755);
	}
	const value = `${delimiter}${folder}`;
	// Skip unnecessary changes, because each one marks open terminals as outdated.
	if (variables.get('PATH')?.value === value) return;
	variables.description = `Enables the \`${commandName}\` command.`;
	variables.append('PATH', value);
}
