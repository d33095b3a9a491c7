import * as vscode from 'vscode';
import { Disposable } from '../../../base/disposable.ts';
import { viewTypes } from '../../ids.ts';
import type { DatasetPanel } from './datasetPanel.ts';

/** Creates the controller for an editor; its code is loaded when the first editor is opened. */
export type MakeDatasetPanel = (panel: vscode.WebviewPanel, uri: vscode.Uri) => Promise<DatasetPanel>;

/** Read-only custom editors for dataset files. All state is in the panels. */
export class DatasetEditors extends Disposable implements vscode.CustomReadonlyEditorProvider {
	readonly #make: MakeDatasetPanel;
	readonly #open = new Set<DatasetPanel>();
	/** Rows to show in editors that are about to open, by URI. */
	readonly rows = new Map<string, number>();

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

	/** The open panels. */
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
