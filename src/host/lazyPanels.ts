import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';

interface Panels<Options> extends vscode.Disposable, vscode.WebviewPanelSerializer {
	open(runFolder: string, options?: Options): unknown;
}

/**
 * Stands for the panels of one type until the first is opened, or brought back after a reload: their code is loaded then,
 * so that activation stays short.
 */
export class LazyPanels<Options> extends Disposable implements vscode.WebviewPanelSerializer {
	readonly #load: () => Promise<Panels<Options>>;
	readonly #serializer: vscode.Disposable;
	#panels: Promise<Panels<Options>> | null = null;

	/** @param load makes the panels, which register their own serialiser */
	constructor(viewType: string, load: () => Promise<Panels<Options>>) {
		super();
		this.#load = load;
		this.#serializer = this.register(vscode.window.registerWebviewPanelSerializer(viewType, this));
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
		// One type has one serialiser.
		this.#serializer.dispose();
		return this.register(await this.#load());
	}
}
