import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { settingIds } from '../ids.ts';
import { actionArguments, serverProgram } from './serverTools.ts';

/** Same ID as in package.json. */
const providerId = 'reasoningLab.runs';

/**
 * Registers the CLI's MCP server with the editor's chat, for runs in the open folders. The editor asks before starting
 * it. Unavailable in untrusted workspaces, whose settings and folders must not determine which files are served.
 */
export class McpServers extends Disposable implements vscode.McpServerDefinitionProvider {
	readonly #changed = this.register(new vscode.EventEmitter<void>());
	readonly #extension: vscode.Uri;
	readonly #version: string;
	readonly #editor: string;
	readonly onDidChangeMcpServerDefinitions = this.#changed.event;

	/** @param editor folder of this window's requests */
	constructor(extension: vscode.Uri, version: string, editor: string) {
		super();
		this.#extension = extension;
		this.#version = version;
		this.#editor = editor;
		this.register(vscode.lm.registerMcpServerDefinitionProvider(providerId, this));
		this.register(vscode.workspace.onDidChangeWorkspaceFolders(() => this.#changed.fire()));
		this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#changed.fire()));
		this.register(
			vscode.workspace.onDidChangeConfiguration((event) => {
				if ([settingIds.mcpActions, settingIds.pythonPath].some((id) => event.affectsConfiguration(id))) {
					this.#changed.fire();
				}
			}),
		);
	}

	provideMcpServerDefinitions(): vscode.McpStdioServerDefinition[] {
		const program = serverProgram(this.#extension, this.#editor);
		if (program === null) return [];
		const { command, args, env } = program;
		const all = [...args, ...actionArguments()];
		return [new vscode.McpStdioServerDefinition('Reasoning Lab', command, all, { ...env }, this.#version)];
	}
}
