import { isAbsolute, normalize } from 'node:path';
import * as vscode from 'vscode';
import { commandIds } from '../ids.ts';
import type { QueryPlace } from '../panels/query/querySession.ts';

export interface QueryOpener {
	open(place: QueryPlace): unknown;
}

/**
 * Handler for *Query Rollouts*, which queries all runs, the runs selected in a menu, or the runs passed by code as
 * `{sql, runs}`. Only reads files, so it works without workspace trust.
 */
export function queryCommands(queries: QueryOpener) {
	return {
		[commandIds.queryRollouts]: async (argument?: unknown, selected?: unknown) => {
			await queries.open(placeOf(argument, selected));
		},
	};
}

function placeOf(argument: unknown, selected: unknown): QueryPlace {
	const folder = folderOf(argument);
	if (folder !== null) {
		// Menus pass the clicked run, followed by all selected runs.
		const all = Array.isArray(selected) ? selected.map(folderOf).filter((entry) => entry !== null) : [];
		return { runs: absolute(all.includes(folder) ? all : [folder]) };
	}
	if (typeof argument !== 'object' || argument === null) return {};
	const { sql, runs } = argument as { readonly sql?: unknown; readonly runs?: unknown };
	return {
		...(typeof sql === 'string' ? { sql } : {}),
		...(Array.isArray(runs) ? { runs: absolute(runs.filter((run) => typeof run === 'string')) } : {}),
	};
}

function folderOf(argument: unknown): string | null {
	if (typeof argument === 'string' && argument !== '') return argument;
	return argument instanceof vscode.Uri ? argument.fsPath : null;
}

function absolute(folders: readonly string[]): string[] {
	return folders.filter((folder) => isAbsolute(folder)).map((folder) => normalize(folder));
}
