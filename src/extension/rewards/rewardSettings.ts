import * as vscode from 'vscode';
import type { RewardLimits } from '../../rewards/rewardRunner.ts';
import { type SettingId, settingIds } from '../ids.ts';

function read<T extends string | number | boolean>(id: SettingId, file: vscode.Uri | undefined, standard: T): T {
	const value: unknown = vscode.workspace.getConfiguration(undefined, file ?? null).get(id);
	return typeof value === typeof standard && (typeof value !== 'number' || Number.isFinite(value))
		? (value as T)
		: standard;
}

const between = (low: number, value: number, high: number) => Math.min(high, Math.max(low, value));

/** Reward settings, read on each use so that changes take effect immediately. */
export const rewardSettings = {
	verifyOnSave: (file: vscode.Uri) => read(settingIds.verifyOnSave, file, true),
	verifyOnOpen: (file: vscode.Uri) => read(settingIds.verifyOnOpen, file, true),
	/** Number of rows in the dataset sample. */
	rows: (file: vscode.Uri) => Math.round(between(2, read(settingIds.verifiedRows, file, 200), 100_000)),
	limits: (file: vscode.Uri): Partial<RewardLimits> => ({
		rowMs: 1000 * between(0.05, read(settingIds.rowTimeout, file, 5), 3600),
		batchMs: 1000 * between(0.1, read(settingIds.batchTimeout, file, 30), 3600),
		memoryMb: Math.round(between(64, read(settingIds.memoryLimit, file, 2048), 1 << 20)),
	}),
	inlineResults: () => read(settingIds.inlineResults, undefined, true),
	coverageMarks: () => read(settingIds.coverageMarks, undefined, true),
	/** null if not set. */
	python: (file?: vscode.Uri) => read(settingIds.pythonPath, file, '').trim() || null,
	sandboxMode: (file?: vscode.Uri) => read(settingIds.sandboxMode, file, 'auto').trim() || 'auto',
} as const;
