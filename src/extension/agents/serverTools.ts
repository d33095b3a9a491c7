import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { editorVariable, linkSchemeVariable } from '../../protocol/editorRequest.ts';
import { settingIds } from '../ids.ts';
import type { McpProgram } from './mcpClient.ts';

/** Calls tools of our MCP server. */
export interface ServerTools {
	/** Returns the tool's text, which is JSON. Fails with the tool's own error, or with `cancelled`. */
	call(name: string, input: object, signal: AbortSignal): Promise<string>;
}

/** Returns the open folders that the server serves, as absolute paths. */
export const servedFolders = (): string[] =>
	(vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) => (uri.scheme === 'file' ? [uri.fsPath] : []));

/**
 * Returns the program of the MCP server for the open folders, with read-only tools; null without a folder or in an
 * untrusted workspace, whose settings and folders must not determine which files are served.
 * @param editor folder of this window's requests; null unless the server is for agents, which also get clickable
 * links
 */
export function serverProgram(extension: vscode.Uri, editor: string | null = null): McpProgram | null {
	const folders = servedFolders();
	if (folders.length === 0 || !vscode.workspace.isTrusted) return null;
	const program = vscode.Uri.joinPath(extension, 'dist', 'cli.js').fsPath;
	return {
		command: process.execPath,
		args: [program, 'mcp', ...folders.flatMap((folder) => ['--folder', folder])],
		env: {
			...(process.versions.electron === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' }),
			...(editor === null ? {} : { [editorVariable]: editor, [linkSchemeVariable]: vscode.env.uriScheme }),
		},
	};
}

/** Same as {@link serverProgram}, but fails with `denied` if there is none. */
export function requireServerProgram(extension: vscode.Uri, editor: string | null = null): McpProgram {
	const program = serverProgram(extension, editor);
	if (program !== null) return program;
	throw new Failure('denied', 'Reading runs requires a trusted workspace with an open folder.', 'Open a folder.');
}

/**
 * Same as {@link requireServerProgram}, but with the tools that act. Fails with `denied` if the user does not allow
 * actions.
 */
export function requireActingProgram(extension: vscode.Uri, editor: string | null): McpProgram {
	const program = requireServerProgram(extension, editor);
	const options = actionArguments();
	if (options.length > 0) return { ...program, args: [...program.args, ...options] };
	throw new Failure(
		'denied',
		`The user does not allow agents to act (setting ${settingIds.mcpActions}).`,
		'Ask the user to do it, or to change the setting.',
	);
}

/** Returns the options that let agents act, or none if the user's own settings do not allow it. */
export function actionArguments(): string[] {
	const configuration = vscode.workspace.getConfiguration();
	if (configuration.get<boolean>(settingIds.mcpActions) !== true) return [];
	const python = configuration.get<string>(settingIds.pythonPath)?.trim();
	return ['--allow-actions', ...(python ? ['--python', python] : [])];
}
