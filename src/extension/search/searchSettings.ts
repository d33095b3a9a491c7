import * as vscode from 'vscode';
import { decode } from '../../protocol/decode.ts';
import { type SearchBudget, searchBudgetSchema } from '../../protocol/treeLog.ts';
import { settingIds } from '../ids.ts';

const standardBudget: SearchBudget = { tokens: 20_000 };

/** Search settings. Values are read on each access, so changes apply immediately. */
export const searchSettings = {
	/** Log folder, relative to a workspace folder. Paths outside the workspace folder fall back to `searches`. */
	folder(scope?: vscode.Uri): string {
		const value: unknown = vscode.workspace.getConfiguration(undefined, scope ?? null).get(settingIds.searchFolder);
		const parts = (typeof value === 'string' ? value : '')
			.split(/[\\/]+/)
			.filter((part) => part !== '' && part !== '.');
		return parts.length === 0 || parts.includes('..') ? 'searches' : parts.join('/');
	},
	/** Search server that research agents can query, or null if none is configured. */
	searchServer(): string | null {
		const value: unknown = vscode.workspace.getConfiguration().get(settingIds.searchServer);
		return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
	},
	budget(scope?: vscode.Uri): SearchBudget {
		const value: unknown = vscode.workspace.getConfiguration(undefined, scope ?? null).get(settingIds.searchBudget);
		const decoded = decode(searchBudgetSchema, value);
		return decoded.ok && Object.keys(decoded.value).length > 0 ? decoded.value : standardBudget;
	},
} as const;
