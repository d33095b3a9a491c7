import type { DashboardAction, DashboardRun } from '../../src/protocol/dashboardMessages.ts';
import { learnsFromRewards } from '../../src/protocol/recipeKeys/stageKinds.ts';

/** Message about the run as a whole, with actions. */
export interface RunNotice {
	readonly kind: 'waiting' | 'info' | 'warning' | 'error';
	readonly title: string;
	readonly text: string;
	readonly actions: readonly { readonly action: DashboardAction; readonly label: string }[];
}

/** Returns the notice for a run; null if the charts need no explanation. Pure. */
export function noticeOf(run: DashboardRun | null, rows: number, hasGrpo: boolean, loading: boolean): RunNotice | null {
	if (run === null) {
		return { kind: 'waiting', title: 'Opening run', text: 'Reading metrics…', actions: [] };
	}
	const log = { action: 'openLog', label: 'Open Log' } as const;
	const folder = { action: 'openFolder', label: 'Open Run Folder' } as const;
	const resume = { action: 'resume', label: 'Resume' } as const;
	const setUp = { action: 'setUpPytorch', label: 'Set Up PyTorch Engine' } as const;
	const possible = (...actions: { action: DashboardAction; label: string }[]) =>
		actions.filter(({ action }) => run.actions.includes(action));
	if (run.fault?.missing) {
		return {
			kind: 'waiting',
			title: 'Waiting for the engine',
			text: `The engine writes run.json when it starts. ${run.fault.message}`,
			actions: possible(log, folder),
		};
	}
	if (run.fault) {
		return {
			kind: 'error',
			title: 'Cannot read this run',
			text: sentence(run.fault.message, run.fault.action),
			actions: possible(folder, log),
		};
	}
	if (run.status === 'crashed') {
		const newest = run.checkpoints.at(-1);
		const from = newest === undefined ? 'from the beginning' : `from the checkpoint at step ${newest}`;
		const why = run.error
			? sentence(run.error.message, run.error.action)
			: 'The engine exited without an error message.';
		return {
			kind: 'error',
			title: 'The run crashed',
			text: `${why} Resume continues ${from}, with the same result as an uninterrupted run.`,
			actions: possible(setUp, resume, log),
		};
	}
	const waits = run.wait && waiting(run.wait.kind, run, rows);
	if (waits) return { kind: 'waiting', ...waits, actions: possible({ action: 'stop', label: 'Stop Waiting' }, log) };
	if (run.pause) {
		return {
			kind: 'warning',
			title: 'Paused: rewards are failing',
			text: sentence(run.pause.message, run.pause.action),
			actions: possible({ action: 'continue', label: 'Continue' }, { action: 'stop', label: 'Stop' }, log),
		};
	}
	if (loading) return { kind: 'waiting', title: 'Opening run', text: 'Reading metrics…', actions: [] };
	if (rows > 0) {
		if (!hasGrpo && beforeRewards(run) && (run.status === 'running' || run.status === 'paused')) {
			return {
				kind: 'info',
				title: 'Cold start',
				text: 'SFT on worked solutions teaches the format. Reward, KL, completions and dead groups appear after the first GRPO step.',
				actions: [],
			};
		}
		return null;
	}
	if (run.format !== undefined) {
		const live = run.status === 'running';
		return {
			kind: live ? 'waiting' : 'info',
			title: live ? 'No metrics yet' : 'No metrics',
			text: `This folder has no ${run.engine} metrics. Use the Rollouts button above to open its rollouts.`,
			actions: possible(folder),
		};
	}
	switch (run.status) {
		case 'starting':
			return {
				kind: 'waiting',
				title: 'Starting',
				text: 'Loading data and model. Charts appear after the first step.',
				actions: possible(log),
			};
		case 'running':
		case 'paused':
			return {
				kind: 'waiting',
				title: run.status === 'paused' ? 'Paused before the first step' : 'Waiting for the first step',
				text: run.status === 'paused' ? 'Continue to start training.' : 'Charts appear after the first step.',
				actions: possible({ action: 'continue', label: 'Continue' }, log),
			};
		default:
			return {
				kind: 'info',
				title: 'No steps',
				text: 'The run ended before its first step. See the log for details.',
				actions: possible(resume, log),
			};
	}
}

/** Returns a notice about what a live engine is waiting for; null if it is not waiting. */
function waiting(
	kind: NonNullable<DashboardRun['wait']>['kind'],
	run: DashboardRun,
	rows: number,
): { readonly title: string; readonly text: string } | null {
	switch (kind) {
		case 'device':
			return {
				title: 'Waiting for the device',
				text: 'The device is in use by another run. This run starts when that run ends.',
			};
		case 'job':
			return {
				title: 'Waiting for the cluster',
				text: 'The job is pending until the cluster has resources for its workers.',
			};
		case 'cluster':
			return {
				title: 'Cluster not responding',
				text: 'Retrying. The job continues as long as the cluster is running, and its progress will appear here.',
			};
		case 'restart':
			return {
				title: 'Restarting after losing a worker',
				text: 'The run continues from its latest checkpoint and repeats the steps after it.',
			};
		case 'loading':
			if (rows > 0) return null;
			return run.engine === 'PyTorch'
				? {
						title: 'Loading PyTorch',
						text: 'Loading libraries and the model. Models from the Hub are downloaded on first use; see the log for progress.',
					}
				: {
						title: 'Starting on the cluster',
						text: 'The workers are loading libraries and the model. Charts appear after the first step.',
					};
	}
}

/** Returns whether the run is in a cold start before reinforcement learning. */
function beforeRewards(run: DashboardRun): boolean {
	if (run.stage !== 'sft' && run.stage !== 'distill') return false;
	const at = run.stages.findLastIndex((stage) => stage.name === run.stage);
	// Assume the default stages if the recipe cannot be read.
	return at < 0 || run.stages.slice(at + 1).some(({ type }) => learnsFromRewards(type));
}

function sentence(message: string, action: string | null): string {
	return action ? `${message} ${action}` : message;
}
