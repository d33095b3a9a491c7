import { Failure } from '../base/failure.ts';
import type { RunStore } from './runStore.ts';

/**
 * Returns the error for a command that finds no suitable run in the workspace. If other folders contain runs, the error
 * says where to find them.
 */
export function noOwnRuns(store: Pick<RunStore, 'runs' | 'own'>, message: string, action?: string): Failure {
	const others = store.runs.length > store.own.length;
	return new Failure(
		'missing',
		message,
		others ? 'Runs in other folders are under "Other Folders" in the Runs view.' : action,
	);
}
