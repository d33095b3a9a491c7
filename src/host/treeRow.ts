import * as vscode from 'vscode';

/** A row of a list in the side bar, as its presentation tells it. */
export interface TreeRow {
	readonly label: string;
	readonly description: string;
	readonly icon: { readonly id: string; readonly color: string | null };
	readonly contextValue: string;
	/** For screen readers. */
	readonly spoken: string;
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
