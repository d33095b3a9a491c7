import * as vscode from 'vscode';
import { openLink } from '../core/address/openLink.ts';
import { addAddressLinks, type MarkdownParser } from '../core/markdown/addressLinks.ts';

/** Makes links of the `rl://` addresses in the editor's previews of Markdown, which open only links to known schemes. */
export function extendMarkdownIt<T extends MarkdownParser>(parser: T): T {
	addAddressLinks(parser, (address) => openLink(vscode.env.uriScheme, address));
	return parser;
}
