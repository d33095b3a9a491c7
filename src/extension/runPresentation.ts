import { formatCounted, formatDuration, formatPercent, formatTime } from '../base/format.ts';
import { engineFactsOf, engineWaitOf } from '../runs/engineFacts.ts';
import {
	type Distinction,
	displayText,
	elapsedOf,
	flagsOf,
	isForeign,
	isLive,
	isRunning,
	nameOf,
	projectOf,
	type RunView,
	sharedNames,
} from './runView.ts';

/** Text for one row of the *Runs* view; runsTree.ts renders it. */
export interface RunPresentation {
	readonly label: string;
	readonly description: string;
	/** Codicon ID and theme color. */
	readonly icon: { readonly id: string; readonly color: string | null };
	readonly contextValue: string;
	/** Names and values, one pair per line. */
	readonly tooltip: readonly (readonly [name: string, value: string])[];
	/** Text for screen readers. */
	readonly spoken: string;
}

type State = RunView['status'] | 'queued';

const icons: Record<State, { readonly id: string; readonly color: string | null }> = {
	starting: { id: 'watch', color: null },
	queued: { id: 'clock', color: null },
	running: { id: 'pulse', color: 'charts.green' },
	paused: { id: 'debug-pause', color: 'charts.yellow' },
	finished: { id: 'pass-filled', color: 'testing.iconPassed' },
	stopped: { id: 'circle-slash', color: null },
	crashed: { id: 'error', color: 'problemsErrorIcon.foreground' },
	unreadable: { id: 'warning', color: 'problemsWarningIcon.foreground' },
};

const stateWords: Record<State, string> = {
	starting: 'starting',
	queued: 'waiting for the device',
	running: 'running',
	paused: 'paused',
	finished: 'finished',
	stopped: 'stopped',
	crashed: 'crashed',
	unreadable: 'unreadable',
};

export function stateOf(view: RunView): State {
	return view.queued && isLive(view) ? 'queued' : view.status;
}

export function stateText(view: RunView): string {
	// The files show whether the run is still being written, but not why it stopped.
	if (isForeign(view)) return view.status === 'running' ? 'being written' : 'inactive';
	const wait = isLive(view) && view.record !== null && view.status !== 'paused' ? engineWaitOf(view.record) : null;
	return wait?.words ?? stateWords[stateOf(view)];
}

function iconOf(view: RunView): RunPresentation['icon'] {
	return isForeign(view) && view.status === 'finished' ? { id: 'book', color: null } : icons[stateOf(view)];
}

/**
 * Returns a run's name.
 * @param now in seconds since the epoch
 * @param distinction text to add if several runs have the same name
 */
export function runLabel(view: RunView, now: number, distinction?: Distinction): string {
	return [
		nameOf(view),
		distinction === 'project' ? `(${projectOf(view.folder)})` : null,
		distinction === undefined || view.record === null ? null : formatTime(view.record.created, now),
	]
		.filter(Boolean)
		.join(' ');
}

/** Returns a function that names runs, adding project and time if several of the runs have the same name. */
export function runLabels(views: readonly RunView[]): (view: RunView) => string {
	const now = Date.now() / 1000;
	const shared = sharedNames(views);
	return (view) => runLabel(view, now, shared.get(nameOf(view)));
}

/**
 * @param now in seconds since the epoch
 * @param distinction text to add if several runs have the same name
 */
export function presentRun(view: RunView, now: number, distinction?: Distinction): RunPresentation {
	const start = view.record === null ? null : formatTime(view.record.created, now);
	const label = runLabel(view, now, distinction);
	const step = stepText(view);
	const reward = view.reward === null ? null : `reward ${formatReward(view.reward)}`;
	const elapsed = elapsedOf(view, now);
	const time = elapsed === null ? null : formatDuration(elapsed);
	const foreign = view.record?.foreign ? displayText(view.record.foreign.title, 40) : null;
	// The default engine is not mentioned.
	const engine =
		foreign === null && view.record && view.record.engine !== 'embedded' ? engineFactsOf(view.record).title : null;
	const state = foreign ?? stateBeside(view);
	const stage = isLive(view) && view.record?.stage ? displayText(view.record.stage, 40) : null;
	return {
		label,
		description: joined([engine, state, stage, step, reward, time]),
		icon: iconOf(view),
		contextValue: flagsOf(view).join(' '),
		tooltip: tooltipOf(view, start, time),
		spoken: [
			label,
			foreign ?? engine,
			stateText(view),
			stage,
			step && `step ${step.replace('/', ' of ')}`,
			reward,
			time,
		]
			.filter(Boolean)
			.join(', '),
	};
}

/** Returns the row for the group of runs and pipelines in other folders. */
export function presentOthers(count: number): RunPresentation {
	const description = formatCounted(count, 'row', 'rows').replace(/ rows?$/, '');
	return {
		label: 'Other Folders',
		description,
		icon: { id: 'folder', color: null },
		contextValue: '',
		tooltip: [['Runs and pipelines', description]],
		spoken: `Other folders, ${formatCounted(count, 'run or pipeline', 'runs and pipelines')}`,
	};
}

/** Returns the state to show as text. A run in progress shows an icon and a stage instead. */
function stateBeside(view: RunView): string | null {
	const text = stateText(view);
	return isRunning(view) && text === stateWords.running ? null : text;
}

function tooltipOf(view: RunView, start: string | null, time: string | null): [string, string][] {
	const rows: [string, string][] = [['State', stateText(view)]];
	const add = (name: string, value: string | null | undefined) => {
		if (value) rows.push([name, value]);
	};
	const record = view.record;
	const why = view.status === 'paused' ? record?.pause : record?.error;
	add('Reason', displayText(view.fault ?? why?.message ?? '', 400));
	add('Action', displayText(view.fault === null ? (why?.action ?? '') : '', 400));
	add('Stage', record?.stage && displayText(record.stage, 40));
	add('Step', stepText(view));
	add('Reward', view.reward === null ? null : `${formatReward(view.reward)} (mean of the latest step)`);
	add('Held-out accuracy', view.accuracy === null ? null : formatPercent(view.accuracy));
	add('Started', start);
	add('Elapsed', time);
	add('Device', record && displayText(record.device, 80));
	if (record?.foreign) {
		add('Trainer', displayText(record.foreign.title, 80));
		record.foreign.notes.slice(0, 12).forEach((note, i) => {
			rows.push([i === 0 ? 'Notes' : '', displayText(note, 400)]);
		});
	} else if (record !== null) {
		const { title, versions, job } = engineFactsOf(record);
		const named = versions.map(([name, version]) => `${name} ${version}`).join(', ');
		add('Engine', displayText(named === '' ? title : `${title}: ${named}`, 200));
		add('Job', job && displayText(`${job.id} at ${job.address}`, 200));
	}
	add('Attempt', record && record.attempt > 1 ? String(record.attempt) : null);
	add('Resumed from', record?.parent && displayText(record.parent.checkpoint, 200));
	add('Tags', view.annotation?.tags?.map((tag) => displayText(tag, 40)).join(', '));
	add('Note', view.annotation?.note && displayText(view.annotation.note, 400));
	add('Folder', displayText(view.folder, 400));
	return rows;
}

export interface StatusBarPresentation {
	/** May contain codicons. */
	readonly text: string;
	readonly tooltip: string;
	readonly spoken: string;
}

/** Returns the status bar text for the active run: stage, step, reward, and tokens/s. */
export function presentStatusBar(view: RunView): StatusBarPresentation {
	const stage = view.record?.stage ? displayText(view.record.stage, 20) : null;
	const state = stateBeside(view);
	const parts = [
		state,
		stage,
		stepText(view),
		view.reward === null ? null : `reward ${formatReward(view.reward)}`,
		isRunning(view) && view.tokensPerSecond !== null ? `${formatRate(view.tokensPerSecond)} tok/s` : null,
	];
	return {
		text: `$(${iconOf(view).id}) ${joined(parts)}`,
		tooltip: `${nameOf(view)}: ${stateText(view)}. Click to open the dashboard.`,
		spoken: `Reasoning Lab run ${nameOf(view)}, ${stateText(view)}, ${parts.filter(Boolean).join(', ')}`,
	};
}

function joined(parts: readonly (string | null)[]): string {
	return parts.filter((part) => part !== null && part !== '').join(' · ');
}

function stepText(view: RunView): string | null {
	const record = view.record;
	if (record === null || record.step === null) return null;
	return record.totalSteps === null ? String(record.step) : `${record.step}/${record.totalSteps}`;
}

export function formatReward(value: number): string {
	return value.toFixed(2).replace(/^-(0\.00)$/, '$1');
}

function formatRate(value: number): string {
	return value >= 10_000
		? `${(value / 1000).toFixed(0)}k`
		: value >= 1000
			? `${(value / 1000).toFixed(1)}k`
			: value.toFixed(0);
}
