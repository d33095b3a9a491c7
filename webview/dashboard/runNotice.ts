import type { DashboardAction, DashboardRun } from '../../src/protocol/dashboardMessages.ts';
import { learnsFromRewards } from '../../src/protocol/stageKinds.ts';

/** A sentence about the run as a whole, with what can be done. */
export interface RunNotice {
	readonly kind: 'waiting' | 'info' | 'warning' | 'error';
	readonly title: string;
	readonly text: string;
	readonly actions: readonly { readonly action: DashboardAction; readonly label: string }[];
}

/** What to say about a run; null when its charts say it all. Pure. */
export function noticeOf(run: DashboardRun | null, rows: number, hasGrpo: boolean, loading: boolean): RunNotice | null {
	if (run === null) {
		return { kind: 'waiting', title: 'Opening the run', text: 'Reading its metrics.', actions: [] };
	}
	const log = { action: 'openLog', label: 'Open the log' } as const;
	const folder = { action: 'openFolder', label: 'Open the run folder' } as const;
	const resume = { action: 'resume', label: 'Resume' } as const;
	const setUp = { action: 'setUpPytorch', label: 'Set Up PyTorch Engine' } as const;
	const possible = (...actions: { action: DashboardAction; label: string }[]) =>
		actions.filter(({ action }) => run.actions.includes(action));
	if (run.fault?.missing) {
		return {
			kind: 'waiting',
			title: 'Waiting for the engine',
			text: `It writes the state of the run when it starts. ${run.fault.message}`,
			actions: possible(log, folder),
		};
	}
	if (run.fault) {
		return {
			kind: 'error',
			title: 'This run cannot be read',
			text: sentence(run.fault.message, run.fault.action),
			actions: possible(folder, log),
		};
	}
	if (run.status === 'crashed') {
		const newest = run.checkpoints.at(-1);
		const from = newest === undefined ? 'from its beginning' : `from the checkpoint of step ${newest}`;
		const why = run.error ? sentence(run.error.message, run.error.action) : 'Its engine ended without a word.';
		return {
			kind: 'error',
			title: 'The run crashed',
			text: `${why} Resume goes on ${from}; the result is that of a run without the crash.`,
			actions: possible(setUp, resume, log),
		};
	}
	const waits = run.wait && waiting(run.wait.kind, run, rows);
	if (waits) return { kind: 'waiting', ...waits, actions: possible({ action: 'stop', label: 'Stop waiting' }, log) };
	if (run.pause) {
		return {
			kind: 'warning',
			title: 'Paused: rewards fail',
			text: sentence(run.pause.message, run.pause.action),
			actions: possible({ action: 'continue', label: 'Continue' }, { action: 'stop', label: 'Stop' }, log),
		};
	}
	if (loading) return { kind: 'waiting', title: 'Opening the run', text: 'Reading its metrics.', actions: [] };
	if (rows > 0) {
		if (!hasGrpo && beforeRewards(run) && (run.status === 'running' || run.status === 'paused')) {
			return {
				kind: 'info',
				title: 'Cold start',
				text: 'The model learns the format from worked solutions. Reward, KL, completions and dead groups appear with the first GRPO step.',
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
			text: `There are no metrics of ${run.engine} in this folder. Open its rollouts above.`,
			actions: possible(folder),
		};
	}
	switch (run.status) {
		case 'starting':
			return {
				kind: 'waiting',
				title: 'Starting',
				text: 'The engine loads the data and the model. Charts appear with the first step.',
				actions: possible(log),
			};
		case 'running':
		case 'paused':
			return {
				kind: 'waiting',
				title: run.status === 'paused' ? 'Paused before the first step' : 'Waiting for the first step',
				text: run.status === 'paused' ? 'Continue to begin.' : 'Charts appear with it.',
				actions: possible({ action: 'continue', label: 'Continue' }, log),
			};
		default:
			return {
				kind: 'info',
				title: 'No steps',
				text: 'The run ended before its first step; its log says more.',
				actions: possible(resume, log),
			};
	}
}

/** What is waited for by an engine that is at work; null: the charts say more. */
function waiting(
	kind: NonNullable<DashboardRun['wait']>['kind'],
	run: DashboardRun,
	rows: number,
): { readonly title: string; readonly text: string } | null {
	switch (kind) {
		case 'device':
			return {
				title: 'Waiting for the device',
				text: 'Another run computes on it; this one begins as soon as that one ends.',
			};
		case 'job':
			return {
				title: 'Waiting for the cluster',
				text: 'The job is pending: it begins as soon as the cluster has room for its workers.',
			};
		case 'cluster':
			return {
				title: 'The cluster does not answer',
				text: 'It is asked again and again. While the cluster lives, the job goes on there, and what it did in the meantime will appear here.',
			};
		case 'restart':
			return {
				title: 'Starting again after a loss',
				text: 'A worker was lost. The run goes on from its newest checkpoint, and what came after it is done again.',
			};
		case 'loading':
			if (rows > 0) return null;
			return run.engine === 'PyTorch'
				? {
						title: 'Loading PyTorch',
						text: 'The trainer loads its libraries and the model; a model of the hub is downloaded the first time. Its log shows the progress.',
					}
				: {
						title: 'Starting on the cluster',
						text: 'The job runs; its workers load their libraries and the model. Charts appear with the first step.',
					};
	}
}

/** Whether a cold start runs after which rewards are learned from. */
function beforeRewards(run: DashboardRun): boolean {
	if (run.stage !== 'sft' && run.stage !== 'distill') return false;
	const at = run.stages.findLastIndex((stage) => stage.name === run.stage);
	// A recipe that cannot be read is taken for the usual one.
	return at < 0 || run.stages.slice(at + 1).some(({ type }) => learnsFromRewards(type));
}

function sentence(message: string, action: string | null): string {
	return action ? `${message} ${action}` : message;
}
