import { is } from 'valibot';
import * as vscode from 'vscode';
import { parallelSchema } from '../../protocol/pipeline.ts';
import { settingIds } from '../ids.ts';

/** Returns the configured maximum number of concurrent pipeline stages for a new runner, if any. */
export function parallelStages(): { readonly parallel?: number } {
	const set = vscode.workspace.getConfiguration().inspect<unknown>(settingIds.parallelStages)?.globalValue;
	return is(parallelSchema, set) ? { parallel: set } : {};
}
