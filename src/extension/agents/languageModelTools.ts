import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { settingIds } from '../ids.ts';
import { actionConfirmation, type ConfirmedTool } from './actionConfirmation.ts';
import { McpClient } from './mcpClient.ts';
import { requireActingProgram, requireServerProgram, servedFolders } from './serverTools.ts';

/** Prefix of the names in package.json, because all extensions share one namespace. */
const prefix = 'reasoninglab_';
/** Appended to results that contain links, because language model tools cannot carry separate instructions. */
const linking = 'In messages to the user, cite data as [TEXT](LINK) with the link next to its address.';
/** Tag of tools that require the user's confirmation. */
const confirmedTag = 'reasoning-lab-confirmed';

interface DeclaredTool extends ConfirmedTool {
	readonly tags: readonly string[];
	/** Present only for tools that need permission to act. */
	readonly when?: string;
}

/**
 * Offers the tools of the MCP server to language models in the editor. Tools that act require the same setting as on
 * the server and the user's confirmation. Does nothing in editors without language models.
 */
export class LanguageModelTools extends Disposable {
	readonly #reading: McpClient;
	/** A separate server, which keeps running when idle because exiting would end its jobs. */
	readonly #acting: McpClient;

	/**
	 * @param editor folder of this window's requests
	 * @param declared `languageModelTools` in package.json
	 */
	constructor(extension: vscode.Uri, editor: string, declared: readonly DeclaredTool[]) {
		super();
		this.#reading = this.register(new McpClient(() => requireServerProgram(extension, editor)));
		this.#acting = this.register(new McpClient(() => requireActingProgram(extension, editor), { idleMs: null }));
		if (typeof vscode.lm?.registerTool !== 'function') return;
		for (const tool of declared) if (tool.name.startsWith(prefix)) this.#register(tool);
		this.register(
			vscode.workspace.onDidChangeConfiguration((event) => {
				if (event.affectsConfiguration(settingIds.mcpActions) || event.affectsConfiguration(settingIds.pythonPath)) {
					this.#acting.stop('The settings of the MCP server have changed.');
				}
			}),
		);
	}

	#register(tool: DeclaredTool): void {
		const name = tool.name.slice(prefix.length);
		const acts = tool.when !== undefined;
		this.register(
			vscode.lm.registerTool<object>(tool.name, {
				prepareInvocation: ({ input }) => ({
					invocationMessage: `Reasoning Lab: ${tool.displayName}`,
					...(tool.tags.includes(confirmedTag)
						? { confirmationMessages: confirmationOf({ ...tool, name }, input) }
						: {}),
				}),
				invoke: ({ input }, token) => this.#invoke(acts, name, input, token),
			}),
		);
	}

	async #invoke(
		acts: boolean,
		tool: string,
		input: object,
		token: vscode.CancellationToken,
	): Promise<vscode.LanguageModelToolResult> {
		const abort = new AbortController();
		const listener = token.onCancellationRequested(() => abort.abort());
		if (token.isCancellationRequested) abort.abort();
		try {
			const text = await (acts ? this.#acting : this.#reading).call(tool, input, abort.signal);
			const parts = text.includes(`"${vscode.env.uriScheme}://`) ? [text, linking] : [text];
			return new vscode.LanguageModelToolResult(parts.map((part) => new vscode.LanguageModelTextPart(part)));
		} finally {
			listener.dispose();
		}
	}
}

function confirmationOf(tool: ConfirmedTool, input: object): vscode.LanguageModelToolConfirmationMessages {
	const { title, message } = actionConfirmation(tool, input, servedFolders());
	return { title, message: new vscode.MarkdownString(message) };
}
