import * as vscode from 'vscode';
import { Disposable } from '../../../base/disposable.ts';
import { viewTypes } from '../../ids.ts';
import type { DatasetPanel } from './datasetPanel.ts';

/** Makes the controller of an editor; its code is loaded when the first one is opened. */
export type MakeDatasetPanel = (panel: vscode.WebviewPanel, uri: vscode.Uri) => Promise<DatasetPanel>;

/** The editors of files of rows: read-only, nothing is held beside the panel. */
export class DatasetEditors extends Disposable implements vscode.CustomReadonlyEditorProvider {
	readonly #make: MakeDatasetPanel;
	readonly #open = new Set<DatasetPanel>();

	constructor(make: MakeDatasetPanel) {
		super();
		this.#make = make;
		for (const type of Object.values(viewTypes)) {
			this.register(
				vscode.window.registerCustomEditorProvider(type, this, {
					supportsMultipleEditorsPerDocument: true,
					webviewOptions: { retainContextWhenHidden: true },
				}),
			);
		}
	}

	/** Those that are open. */
	get panels(): readonly DatasetPanel[] {
		return [...this.#open];
	}

	openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
		return { uri, dispose: () => undefined };
	}

	async resolveCustomEditor({ uri }: vscode.CustomDocument, panel: vscode.WebviewPanel): Promise<void> {
		const made = await this.#make(panel, uri);
		this.#open.add(made);
		panel.onDidDispose(() => this.#open.delete(made));
	}
}
