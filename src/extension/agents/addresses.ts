import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { findCitations } from '../../core/address/citations.ts';
import { decodedAddress } from '../../core/address/openLink.ts';
import { commandIds } from '../ids.ts';

/** Path of URIs that open an address: `vscode://reasoning-lab.reasoning-lab/open?address=rl%3A%2F%2F...`. */
const openPath = '/open';
/** Maximum length of documents in which addresses become links. */
const maxCharacters = 2_000_000;

/**
 * Opens the targets of `rl://` addresses, from links in Markdown files and from this extension's URIs, which other
 * programs can open. The editor asks before passing on the first URI.
 */
export class Addresses extends Disposable implements vscode.UriHandler, vscode.DocumentLinkProvider {
	constructor() {
		super();
		this.register(vscode.window.registerUriHandler(this));
		this.register(vscode.languages.registerDocumentLinkProvider({ language: 'markdown' }, this));
	}

	async handleUri(uri: vscode.Uri): Promise<void> {
		const [, address = ''] = uri.path === openPath ? (/(?:^|&)address=([^&]*)/.exec(uri.query) ?? []) : [];
		// The command reports invalid and missing addresses.
		await vscode.commands.executeCommand(commandIds.openAddress, decodedAddress(address) || 'rl://');
	}

	provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
		const text = document.getText();
		if (text.length > maxCharacters) return [];
		return findCitations(text).map(({ address, offset, length }) => {
			const range = new vscode.Range(document.positionAt(offset), document.positionAt(offset + length));
			const target = vscode.Uri.parse(
				`command:${commandIds.openAddress}?${encodeURIComponent(JSON.stringify([address]))}`,
			);
			const link = new vscode.DocumentLink(range, target);
			link.tooltip = 'Open in Reasoning Lab';
			return link;
		});
	}
}
