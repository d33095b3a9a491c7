import { is } from 'valibot';
import * as vscode from 'vscode';
import { parallelSchema } from '../../protocol/pipeline.ts';
import { settingIds } from '../ids.ts';

/** Returns the maximum number of pipeline stages that run at the same time, for a runner that starts now, if it is set. */
export function parallelStages(): { readonly parallel?: number } {
	const set = vscode.workspace.getConfiguration().inspect<unknown>(settingIds.parallelStages)?.globalValue;
	return is(parallelSchema, set) ? { parallel: set } : {};
}
