import type { PipelineView, StageView } from '../../runs/pipeline/pipelineView.ts';
import type { ItemFlag } from '../ids.ts';
import { formatElapsed, formatShare, formatTime } from '../runPresentation.ts';
import { displayText } from '../runView.ts';
import type { TreeRow } from '../treeRow.ts';
import { isLivePipeline, isResumablePipeline } from './pipelineStore.ts';

type Icon = TreeRow['icon'];

const pipelineIcons: Readonly<Record<PipelineView['status'], Icon>> = {
	starting: { id: 'watch', color: null },
	running: { id: 'pulse', color: 'charts.green' },
	finished: { id: 'pass-filled', color: 'testing.iconPassed' },
	stopped: { id: 'circle-slash', color: null },
	failed: { id: 'error', color: 'problemsErrorIcon.foreground' },
	crashed: { id: 'error', color: 'problemsErrorIcon.foreground' },
};

const stageIcons: Readonly<Record<StageView['status'], Icon>> = {
	waiting: { id: 'clock', color: null },
	running: { id: 'pulse', color: 'charts.green' },
	finished: { id: 'pass-filled', color: 'testing.iconPassed' },
	skipped: { id: 'debug-step-over', color: null },
	stopped: { id: 'circle-slash', color: null },
	failed: { id: 'error', color: 'problemsErrorIcon.foreground' },
};

const joined = (parts: readonly (string | null)[]) => parts.filter(Boolean).join(' · ');
const spoken = (parts: readonly (string | null)[]) => parts.filter(Boolean).join(', ');

/** One pipeline as a row; its stages are rows below it. @param now in seconds since the epoch */
export function presentPipeline(view: PipelineView, now: number): TreeRow {
	const label = displayText(view.name) || 'pipeline';
	const done = view.stages.filter(({ status }) => status === 'finished' || status === 'skipped').length;
	const stage = view.stages.find(({ status }) => status === 'running' || status === 'failed' || status === 'stopped');
	const stages = `${done} of ${view.stages.length} stages`;
	const start = formatTime(view.record.created, now);
	const flags: ItemFlag[] = ['pipeline'];
	if (isLivePipeline(view)) flags.push('livePipeline');
	if (isResumablePipeline(view)) flags.push('resumablePipeline');
	return {
		label,
		description: joined([view.status, stage === undefined ? null : displayText(stage.name, 40), stages, start]),
		icon: pipelineIcons[view.status],
		contextValue: flags.join(' '),
		spoken: spoken([`pipeline ${label}`, view.status, stage === undefined ? null : `stage ${stage.name}`, stages]),
	};
}

/** A stage that has no run to show: one that waits, was left out, or searches or evaluates. */
export function presentStage(stage: StageView): TreeRow {
	const label = displayText(stage.name, 40);
	const type = displayText(stage.type, 40);
	const why = stage.why === null ? null : displayText(stage.why, 200);
	const { done, total, seconds } = stage;
	const count = done === null ? null : `${done}${total === null ? '' : `/${total}`}`;
	const accuracy = stage.accuracy === null ? null : `accuracy ${formatShare(stage.accuracy)}`;
	const time = seconds === null ? null : formatElapsed(seconds);
	// "waits for cold" says that it waits.
	const state = stage.status === 'waiting' && why !== null ? why : stage.status;
	const reason = state === why ? null : why;
	return {
		label,
		description: joined([state, type, count, accuracy, time, reason]),
		icon: stageIcons[stage.status],
		contextValue: 'stage' satisfies ItemFlag,
		spoken: spoken([`stage ${label}`, state, type, count?.replace('/', ' of ') ?? null, accuracy, time, reason]),
	};
}
