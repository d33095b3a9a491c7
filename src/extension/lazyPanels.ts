import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { Lazy } from './lazy.ts';

interface Panels<Options, Place> extends vscode.Disposable, vscode.WebviewPanelSerializer {
	open(place: Place, options?: Options): unknown;
}

/**
 * Stands for the panels of one type: their code is loaded when the first is opened, or restored after a reload. It remains
 * their serializer, as several may be restored at once.
 */
export class LazyPanels<Options, Place = string> extends Disposable implements vscode.WebviewPanelSerializer {
	readonly #panels: Lazy<Panels<Options, Place>>;

	constructor(viewType: string, load: () => Promise<Panels<Options, Place>>) {
		super();
		this.#panels = this.register(new Lazy(load));
		this.register(vscode.window.registerWebviewPanelSerializer(viewType, this));
	}

	/** @param place what the panel shows: a run's folder, unless the panels show something else */
	async open(place: Place, options?: Options): Promise<void> {
		(await this.#panels.get()).open(place, options);
	}

	async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
		await (await this.#panels.get()).deserializeWebviewPanel(panel, state);
	}
}
