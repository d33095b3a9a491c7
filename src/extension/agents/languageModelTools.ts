import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { McpClient } from './mcpClient.ts';
import { requireServerProgram } from './serverTools.ts';

/** Prefix of the names in package.json, because all extensions share one namespace. */
const prefix = 'reasoninglab_';

interface DeclaredTool {
	readonly name: string;
	readonly displayName: string;
}

/**
 * Offers the read-only tools of the MCP server to language models in the editor. Registers nothing in editors without
 * language models.
 */
export class LanguageModelTools extends Disposable {
	readonly #client: McpClient;

	/**
	 * @param editor folder of this window's requests
	 * @param declared `languageModelTools` in package.json
	 */
	constructor(extension: vscode.Uri, editor: string, declared: readonly DeclaredTool[]) {
		super();
		this.#client = this.register(new McpClient(() => requireServerProgram(extension, editor)));
		if (typeof vscode.lm?.registerTool !== 'function') return;
		for (const { name, displayName } of declared) {
			if (!name.startsWith(prefix)) continue;
			this.register(
				vscode.lm.registerTool<object>(name, {
					prepareInvocation: () => ({ invocationMessage: `Reasoning Lab: ${displayName}` }),
					invoke: ({ input }, token) => this.#invoke(name.slice(prefix.length), input, token),
				}),
			);
		}
	}

	async #invoke(tool: string, input: object, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> {
		const abort = new AbortController();
		const listener = token.onCancellationRequested(() => abort.abort());
		if (token.isCancellationRequested) abort.abort();
		try {
			const text = await this.#client.call(tool, input, abort.signal);
			return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
		} finally {
			listener.dispose();
		}
	}
}
