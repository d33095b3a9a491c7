import * as vscode from 'vscode';
import { openLink } from '../core/address/openLink.ts';
import { addAddressLinks, type MarkdownParser } from '../core/markdown/addressLinks.ts';

/** Turns `rl://` addresses in the editor's Markdown previews into links with a scheme that the previews can open. */
export function extendMarkdownIt<T extends MarkdownParser>(parser: T): T {
	addAddressLinks(parser, (address) => openLink(vscode.env.uriScheme, address));
	return parser;
}
