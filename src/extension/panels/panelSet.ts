import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { webviewOptions } from './panelBase.ts';
import { messageHtml } from './webviewHtml.ts';

/** The parts of a panel needed by a panel set. */
interface ShownPanel extends vscode.Disposable {
	reveal(): void;
}

/** Describes the panels of a view type and how to create them. */
export interface PanelKind<P extends ShownPanel, Place, Options> {
	readonly viewType: string;
	/** Noun for error messages when a panel cannot be restored, such as "this run". */
	readonly what: string;
	/** Identifies a panel: places with the same key share one panel. With null, every place gets its own panel. */
	key(place: Place): string | null;
	title(place: Place): string;
	/** Column for new panels; defaults to the active column. */
	column?(): vscode.ViewColumn;
	create(panel: vscode.WebviewPanel, place: Place, options?: Options): P;
	/** Called when an open panel is opened again. */
	reopen?(panel: P, place: Place, options?: Options): void;
	/** Returns the place encoded in a saved state, validated like any untrusted input. Throws Failure. */
	restore(state: unknown): Place | Promise<Place>;
}

/** The open panels of a view type. Opens, reveals, and, after a window reload, restores them. */
export class PanelSet<P extends ShownPanel, Place, Options = never>
	extends Disposable
	implements vscode.WebviewPanelSerializer
{
	readonly #extension: vscode.Uri;
	readonly #kind: PanelKind<P, Place, Options>;
	readonly #panels = new Map<string | symbol, P>();

	constructor(extension: vscode.Uri, kind: PanelKind<P, Place, Options>) {
		super();
		this.#extension = extension;
		this.#kind = kind;
		this.register({
			dispose: () => {
				for (const panel of this.panels) panel.dispose();
			},
		});
	}

	get panels(): readonly P[] {
		return [...this.#panels.values()];
	}

	/** Returns the panel for a place, opening a new one if necessary. */
	open(place: Place, options?: Options): P {
		const kind = this.#kind;
		const open = this.#panels.get(this.#keyOf(place));
		if (open !== undefined) {
			open.reveal();
			kind.reopen?.(open, place, options);
			return open;
		}
		const column = kind.column?.() ?? vscode.ViewColumn.Active;
		const made = vscode.window.createWebviewPanel(
			kind.viewType,
			kind.title(place),
			column,
			webviewOptions(this.#extension),
		);
		return this.#adopt(made, place, options);
	}

	async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
		try {
			const place = await this.#kind.restore(state);
			if (this.#panels.has(this.#keyOf(place))) panel.dispose();
			else this.#adopt(panel, place);
		} catch (error) {
			panel.webview.html = messageHtml(`Cannot show ${this.#kind.what}`, Failure.from(error).toString());
		}
	}

	#keyOf(place: Place): string | symbol {
		return this.#kind.key(place) ?? Symbol('separate panel');
	}

	#adopt(panel: vscode.WebviewPanel, place: Place, options?: Options): P {
		const key = this.#keyOf(place);
		const made = this.#kind.create(panel, place, options);
		this.#panels.set(key, made);
		panel.onDidDispose(() => this.#panels.delete(key));
		return made;
	}
}
