import * as vscode from 'vscode';
import { Disposable } from '../base/disposable.ts';
import { Lazy } from './lazy.ts';

interface Panels<Options, Place, Panel> extends vscode.Disposable, vscode.WebviewPanelSerializer {
	open(place: Place, options?: Options): Panel;
}

/**
 * A proxy for the panels of one type. Their code is loaded when the first panel is opened or restored after a reload.
 * The proxy stays registered as the serializer, because several panels can be restored concurrently.
 */
export class LazyPanels<Options, Place = string, Panel = unknown>
	extends Disposable
	implements vscode.WebviewPanelSerializer
{
	readonly #panels: Lazy<Panels<Options, Place, Panel>>;

	constructor(viewType: string, load: () => Promise<Panels<Options, Place, Panel>>) {
		super();
		this.#panels = this.register(new Lazy(load));
		this.register(vscode.window.registerWebviewPanelSerializer(viewType, this));
	}

	/** @param place what to show: a run folder, unless this panel type shows something else */
	async open(place: Place, options?: Options): Promise<Panel> {
		return (await this.#panels.get()).open(place, options);
	}

	async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
		await (await this.#panels.get()).deserializeWebviewPanel(panel, state);
	}
}
