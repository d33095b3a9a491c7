import * as vscode from 'vscode';
import { plainMarkdown } from './rewards/plainMarkdown.ts';

/** A row of a list in the side bar, as its presentation tells it. */
export interface TreeRow {
	readonly label: string;
	readonly description: string;
	readonly icon: { readonly id: string; readonly color: string | null };
	readonly contextValue: string;
	/** For screen readers. */
	readonly spoken: string;
}

/** A row with a tooltip: names and values, one per line. */
export interface TooltipRow extends TreeRow {
	readonly tooltip: readonly (readonly [name: string, value: string])[];
}

/** The row's item, without children, command and tooltip; null: nothing is known of it but its id. */
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

/** Plain values only: text of a run folder becomes neither link, image nor HTML. */
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
