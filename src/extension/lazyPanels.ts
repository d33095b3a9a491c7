import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';

interface Panels<Options, Place> extends vscode.Disposable, vscode.WebviewPanelSerializer {
	open(place: Place, options?: Options): unknown;
}

/**
 * Stands for the panels of one type: their code is loaded when the first is opened, or brought back after a reload, so
 * that activation stays short. It stays their serialiser, as several may come back at once.
 */
export class LazyPanels<Options, Place = string> extends Disposable implements vscode.WebviewPanelSerializer {
	readonly #load: () => Promise<Panels<Options, Place>>;
	#panels: Promise<Panels<Options, Place>> | null = null;

	constructor(viewType: string, load: () => Promise<Panels<Options, Place>>) {
		super();
		this.#load = load;
		this.register(vscode.window.registerWebviewPanelSerializer(viewType, this));
	}

	/** @param place what the panel is of: a run's folder, unless the panels are of something else */
	async open(place: Place, options?: Options): Promise<void> {
		(await this.#loaded()).open(place, options);
	}

	async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
		await (await this.#loaded()).deserializeWebviewPanel(panel, state);
	}

	#loaded(): Promise<Panels<Options, Place>> {
		this.#panels ??= this.#begin();
		return this.#panels;
	}

	async #begin(): Promise<Panels<Options, Place>> {
		return this.register(await this.#load());
	}
}
