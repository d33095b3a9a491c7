import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';

/** As package.json declares it. */
const providerId = 'reasoningLab.runs';

/**
 * Offers the MCP server of the command line to the chat of the editor, for the runs of the open folders. The editor asks before
 * it starts one. In a workspace that is not trusted there is none: its settings and folders are not to choose what is served.
 */
export class McpServers extends Disposable implements vscode.McpServerDefinitionProvider {
	readonly #changed = this.register(new vscode.EventEmitter<void>());
	readonly #extension: vscode.Uri;
	readonly #version: string;
	readonly onDidChangeMcpServerDefinitions = this.#changed.event;

	constructor(extension: vscode.Uri, version: string) {
		super();
		this.#extension = extension;
		this.#version = version;
		this.register(vscode.lm.registerMcpServerDefinitionProvider(providerId, this));
		this.register(vscode.workspace.onDidChangeWorkspaceFolders(() => this.#changed.fire()));
		this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#changed.fire()));
	}

	provideMcpServerDefinitions(): vscode.McpStdioServerDefinition[] {
		const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file');
		if (folders.length === 0 || !vscode.workspace.isTrusted) return [];
		const program = vscode.Uri.joinPath(this.#extension, 'dist', 'cli.js').fsPath;
		const args = [program, 'mcp', ...folders.flatMap(({ uri }) => ['--folder', uri.fsPath])];
		const environment = process.versions.electron === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' };
		return [new vscode.McpStdioServerDefinition('Reasoning Lab', process.execPath, args, environment, this.#version)];
	}
}
