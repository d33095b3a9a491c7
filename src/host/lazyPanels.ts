import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';

interface Panels<Options> extends vscode.Disposable, vscode.WebviewPanelSerializer {
	open(runFolder: string, options?: Options): unknown;
}

/**
 * Stands for the panels of one type: their code is loaded when the first is opened, or brought back after a reload, so
 * that activation stays short. It stays their serialiser, as several may come back at once.
 */
export class LazyPanels<Options> extends Disposable implements vscode.WebviewPanelSerializer {
	readonly #load: () => Promise<Panels<Options>>;
	#panels: Promise<Panels<Options>> | null = null;

	constructor(viewType: string, load: () => Promise<Panels<Options>>) {
		super();
		this.#load = load;
		this.register(vscode.window.registerWebviewPanelSerializer(viewType, this));
	}

	async open(runFolder: string, options?: Options): Promise<void> {
		(await this.#loaded()).open(runFolder, options);
	}

	async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
		await (await this.#loaded()).deserializeWebviewPanel(panel, state);
	}

	#loaded(): Promise<Panels<Options>> {
		this.#panels ??= this.#begin();
		return this.#panels;
	}

	async #begin(): Promise<Panels<Options>> {
		return this.register(await this.#load());
	}
}
