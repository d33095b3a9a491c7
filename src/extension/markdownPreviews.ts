import * as vscode from 'vscode';
import { openLink } from '../core/address/openLink.ts';
import { addAddressLinks, type MarkdownParser } from '../core/markdown/addressLinks.ts';

/** Turns `rl://` addresses in the editor's Markdown previews, which only open links with known schemes, into links. */
export function extendMarkdownIt<T extends MarkdownParser>(parser: T): T {
	addAddressLinks(parser, (address) => openLink(vscode.env.uriScheme, address));
	return parser;
}
