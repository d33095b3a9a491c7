import * as vscode from 'vscode';
import { plainMarkdown } from './rewards/plainMarkdown.ts';

/** Display data for a row in a side bar list. */
export interface TreeRow {
	readonly label: string;
	readonly description: string;
	readonly icon: { readonly id: string; readonly color: string | null };
	readonly contextValue: string;
	/** Screen reader label. */
	readonly spoken: string;
}

/** A row with a tooltip made of name-value pairs, one per line. */
export interface TooltipRow extends TreeRow {
	readonly tooltip: readonly (readonly [name: string, value: string])[];
}

/** Returns the tree item without children, command or tooltip. If `row` is null, only the ID is known. */
export function treeRowItem(id: string, row: TreeRow | null): vscode.TreeItem {
	const item = new vscode.TreeItem(row?.label ?? id);
	item.id = id;
	if (row === null) return item;
	const { icon } = row;
	item.description = row.description;
	item.iconPath = new vscode.ThemeIcon(icon.id, icon.color === null ? undefined : new vscode.ThemeColor(icon.color));
	item.contextValue = row.contextValue;
	item.accessibilityInformation = { label: row.spoken };
	return item;
}

/** Escapes all values, so text from a run folder cannot become a link, an image or HTML. */
export function rowTooltip({ label, tooltip }: Pick<TooltipRow, 'label' | 'tooltip'>): vscode.MarkdownString {
	const text = new vscode.MarkdownString();
	text.appendMarkdown('**').appendText(label).appendMarkdown('**\n\n');
	for (const [name, value] of tooltip) {
		text
			.appendMarkdown(name === '' ? '' : `${plainMarkdown(name)}: `)
			.appendText(value)
			.appendMarkdown('  \n');
	}
	return text;
}
