import * as vscode from 'vscode';
import type { EnvironmentLimits } from '../../episodes/environmentRunner.ts';
import { rewardSettings } from '../rewards/rewardSettings.ts';

/** Returns the configured limits for an environment file. */
export function environmentLimits(file: string): Partial<EnvironmentLimits> {
	const { rowMs, memoryMb } = rewardSettings.limits(vscode.Uri.file(file));
	return { ...(rowMs === undefined ? {} : { turnMs: rowMs }), ...(memoryMb === undefined ? {} : { memoryMb }) };
}
