import {
	formatCount,
	formatCounted,
	formatDuration,
	formatEstimate,
	formatPercent,
	formatTime,
} from '../../base/format.ts';
import { costTexts } from '../../core/pipeline/stageCost.ts';
import type { PipelineView, StageView } from '../../runs/pipeline/pipelineView.ts';
import type { EvaluationView } from '../evaluation/evaluationList.ts';
import { passText } from '../evaluation/evaluationPresentation.ts';
import type { ItemFlag } from '../ids.ts';
import { formatReward, stateText } from '../runPresentation.ts';
import { displayText, flagsOf, isLive, type RunView } from '../runView.ts';
import type { TooltipRow, TreeRow } from '../treeRow.ts';
import { isLivePipeline, isResumablePipeline } from './pipelineState.ts';

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

/** Icon for a pipeline that finished with partial failures. */
const partialIcon: Icon = { id: 'warning', color: 'problemsWarningIcon.foreground' };

const joined = (parts: readonly (string | null)[]) => parts.filter(Boolean).join(' · ');
const spoken = (parts: readonly (string | null)[]) => parts.filter(Boolean).join(', ');
const ofText = (count: string | null) => count?.replace('/', ' of ') ?? null;
const stageName = (name: string) => displayText(name, 40);

/** Formats a count such as `12/20`, or returns null if the stage has not started. */
function countOf({ done, total }: Pick<StageView, 'done' | 'total'>): string | null {
	return done === null ? null : `${done}${total === null ? '' : `/${total}`}`;
}

const isPartial = ({ partial }: StageView) => partial !== null;
const isDone = ({ status }: StageView) => status === 'finished' || status === 'skipped';

/**
 * Returns the tree row for a pipeline; its stages are rows below it.
 * @param now in seconds since the epoch
 * @param ofFirst seconds until the first running stage is done; null if unknown
 */
export function presentPipeline(view: PipelineView, now: number, ofFirst: number | null = null): TooltipRow {
	const label = displayText(view.name) || 'pipeline';
	const live = isLivePipeline(view);
	const done = view.stages.filter(isDone).length;
	const stage = view.stages.find(({ status }) => status === 'running' || status === 'failed' || status === 'stopped');
	const stages = `${formatCount(done)} of ${formatCounted(view.stages.length, 'stage')}`;
	const running = view.stages.filter(({ status }) => status === 'running');
	const several = live && running.length > 1;
	const left = several ? null : ofFirst;
	const count = stage !== undefined && live && !several ? countOf(stage) : null;
	const at = several
		? running.map(({ name }) => stageName(name)).join(', ')
		: stage === undefined
			? null
			: stageName(stage.name);
	const start = formatTime(view.record.created, now);
	const elapsed = formatDuration(view.stages.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0));
	const flags: ItemFlag[] = ['pipeline'];
	if (live) flags.push('livePipeline');
	else flags.push('endedPipeline');
	if (isResumablePipeline(view)) flags.push('resumablePipeline');
	// A running pipeline shows an icon and the progress of its stage instead of the status.
	const state = view.status === 'running' && stage !== undefined ? null : view.status;
	const step = at === null ? null : `${at}${count === null ? '' : ` ${count}`}`;
	const time = live ? elapsed : start;
	return {
		label,
		description: joined([state, step, stages, leftText(left), time]),
		icon: view.status === 'finished' && view.stages.some(isPartial) ? partialIcon : pipelineIcons[view.status],
		contextValue: flags.join(' '),
		tooltip: pipelineTooltip(view, { stages, step, start, elapsed, left }),
		spoken: spoken([
			`pipeline ${label}`,
			view.status,
			at && `${several ? 'stages' : 'stage'} ${at}`,
			ofText(count),
			stages,
			leftText(left),
		]),
	};
}

interface PipelineWords {
	readonly stages: string;
	readonly step: string | null;
	readonly start: string;
	readonly elapsed: string;
	readonly left: number | null;
}

function pipelineTooltip(view: PipelineView, words: PipelineWords): [string, string][] {
	const { record, status, stages } = view;
	const rows: [string, string][] = [['State', status === 'crashed' ? 'crashed: its runner exited' : status]];
	const add = (name: string, value: string | null | undefined) => {
		if (value) rows.push([name, value]);
	};
	const error = isLivePipeline(view) ? undefined : record.error;
	add('Reason', displayText(error?.message ?? '', 400));
	add('Action', displayText(error?.action ?? (isResumablePipeline(view) ? whatToDo : ''), 400));
	add(stages.filter(({ status: own }) => own === 'running').length > 1 ? 'Stages' : 'Stage', words.step);
	add('Stage time left', leftText(words.left));
	add('Done', words.stages);
	const measured = stages.filter(({ accuracy }) => accuracy !== null).slice(-maxMeasured);
	add(
		'Held-out accuracy',
		measured.map(({ name, accuracy }) => `${stageName(name)} ${formatPercent(accuracy as number)}`).join(', '),
	);
	add('Started', words.start);
	add('Stage time', words.elapsed);
	add('Attempt', record.attempt > 1 ? String(record.attempt) : null);
	add('Earlier outputs', displayText(stages.flatMap(({ kept }) => kept).join(', '), 200));
	add('Folder', displayText(view.folder, 400));
	return rows;
}

const whatToDo = 'Resume the pipeline. Finished stages are not rerun.';
/** Maximum number of stage accuracies listed in a tooltip. */
const maxMeasured = 12;

function leftText(seconds: number | null): string | null {
	return seconds === null ? null : `about ${formatEstimate(Math.max(1, seconds))} left`;
}

export interface StageFacts {
	/** Run of the stage; absent if the stage has no run or has not started yet. */
	readonly run?: RunView | undefined;
	/** Pipeline that contains the stage, if known. */
	readonly pipeline?: PipelineView | undefined;
	/** Result of an evaluation stage. */
	readonly evaluation?: EvaluationView | null | undefined;
	/** Seconds until the stage is done; null if unknown. */
	readonly left?: number | null;
}

/** Returns the tree row for a stage: what it is waiting for, its progress, or its result, depending on its status. */
export function presentStage(stage: StageView, facts: StageFacts = {}): TooltipRow {
	const { run, pipeline, evaluation, left = null } = facts;
	const label = stageName(stage.name);
	const type = displayText(stage.type, 40);
	const why = stage.why === null ? null : displayText(stage.why, 200);
	const live = stage.status === 'running';
	const runs = live && run !== undefined && isLive(run) ? stateText(run) : null;
	// "waits for cold" already implies the waiting status.
	const state = stage.status === 'waiting' && why !== null ? why : (runs ?? stage.status);
	const reason = state === why ? null : why;
	const count = countOf(stage);
	const measured = live ? (run?.accuracy ?? stage.accuracy) : stage.accuracy;
	const accuracy =
		evaluation?.accuracy != null
			? `pass@1 ${passText(evaluation.accuracy)}`
			: measured === null
				? null
				: `accuracy ${formatPercent(measured)}`;
	const reward = live && run?.reward != null ? `reward ${formatReward(run.reward)}` : null;
	const time = stage.seconds === null ? null : formatDuration(stage.seconds);
	const used = displayText(costTexts(stage).join(', '), 200);
	const remaining = live ? leftText(left) : null;
	// The icon shows that the stage is running or finished.
	const quiet = state === 'running' || state === 'finished';
	return {
		label,
		// Put the most important facts first, because narrow views truncate the row.
		description: live
			? joined([quiet ? null : state, count, remaining, accuracy, reward, type, time, reason])
			: joined([quiet ? null : state, accuracy, type, count, time, reason]),
		icon: isPartial(stage) ? partialIcon : stageIcons[stage.status],
		contextValue: flagsOfStage(stage, facts).join(' '),
		tooltip: [
			['Stage', type],
			['State', stage.status === 'waiting' ? (why ?? stage.status) : state],
			...(reason === null ? [] : [['Reason', reason] as const]),
			...(count === null ? [] : [[isTraining(stage) ? 'Step' : 'Problems', count] as const]),
			...(accuracy === null
				? []
				: [[evaluation ? 'Measured' : 'Held-out', accuracy.replace(/^accuracy /, '')] as const]),
			...(reward === null ? [] : [['Reward', reward.replace(/^reward /, '')] as const]),
			...(remaining === null ? [] : [['Time left', remaining] as const]),
			...(time === null ? [] : [['Time', time] as const]),
			...(used === '' ? [] : [['Used', used] as const]),
			...(stage.device === null ? [] : [['Device', displayText(stage.device, 60)] as const]),
			...dependencies(stage, pipeline),
			...(stage.kept.length === 0 ? [] : [['Earlier outputs', displayText(stage.kept.join(', '), 200)] as const]),
			['Folder', displayText(stage.folder, 400)],
		],
		spoken: spoken([`stage ${label}`, state, type, ofText(count), accuracy, reward, remaining, time, reason]),
	};
}

const isTraining = ({ type }: StageView) => type !== 'search' && type !== 'evaluate';

/** Returns the stages this stage depends on and the stages that depend on it. */
function dependencies(stage: StageView, pipeline: PipelineView | undefined): [string, string][] {
	const states = pipeline?.record.stages ?? [];
	const own = states.find(({ name }) => name === stage.name);
	const behind = states.filter(({ after }) => after.includes(stage.name)).map(({ name }) => name);
	const made = own?.outputs.map(({ kind }) => kind.replaceAll('-', ' ')) ?? [];
	const rows: [string, readonly string[]][] = [
		['After', own?.after ?? []],
		['Outputs', made],
		['Before', behind],
	];
	return rows
		.filter(([, names]) => names.length > 0)
		.map(([name, names]) => [name, displayText(names.join(', '), 200)]);
}

function flagsOfStage(stage: StageView, { run, pipeline, evaluation }: StageFacts): ItemFlag[] {
	const flags: ItemFlag[] = ['stage'];
	const started = stage.status !== 'waiting' && stage.status !== 'skipped';
	// A stage is resumed together with its pipeline, not individually.
	if (started && run !== undefined) flags.push(...flagsOf(run).filter((flag) => flag !== 'resumable'));
	if (evaluation != null) flags.push('evaluation');
	const ended = stage.status === 'failed' || stage.status === 'stopped';
	if (ended && pipeline !== undefined && isResumablePipeline(pipeline)) flags.push('resumablePipeline');
	return flags;
}
