import { elapsedSeconds } from '../protocol/runElapsed.ts';
import type { AnyRunRecord, RunAnnotation, RunStatus } from '../protocol/runRecord.ts';
import type { ItemFlag } from './ids.ts';

/** A complete snapshot of a run for lists, the status bar, and notifications; replaced on every change. */
export interface RunView {
	/** Absolute path, which identifies the run on this machine. */
	readonly folder: string;
	/** null if run.json does not exist (yet) or is unreadable; see `fault`. */
	readonly record: AnyRunRecord | null;
	/**
	 * Status derived from the record, the heartbeat, and the process: `crashed` if the record says `running` but there is
	 * no engine.
	 */
	readonly status: RunStatus | 'unreadable';
	/** Whether the run is waiting for its device or its job is waiting for resources on the cluster. */
	readonly queued: boolean;
	readonly fault: string | null;
	readonly annotation: RunAnnotation | null;
	/** Mean reward of the latest step that has one. */
	readonly reward: number | null;
	/** Latest held-out accuracy, 0 to 1. */
	readonly accuracy: number | null;
	/** Generated tokens per second at the latest step. */
	readonly tokensPerSecond: number | null;
}

/**
 * Returns whether two snapshots look the same when displayed, so that a redraw can be skipped. Heartbeats are ignored.
 */
export function sameView(a: RunView, b: RunView): boolean {
	return fingerprint(a) === fingerprint(b);
}

function fingerprint(view: RunView): string {
	const record = view.record && { ...view.record, heartbeat: 0, updated: 0 };
	return JSON.stringify([{ ...view, record }, view.record && view.status !== 'running' ? view.record.updated : 0]);
}

/**
 * Returns whether the run was created by another trainer. Such runs are read-only: they cannot be started, stopped, or
 * changed here.
 */
export function isForeign(view: RunView): boolean {
	return view.record?.engine === 'foreign';
}

/** Returns whether one of our engines is working on the run. */
export function isLive(view: RunView): boolean {
	if (isForeign(view)) return false;
	return view.status === 'starting' || view.status === 'running' || view.status === 'paused';
}

/** Returns whether the run is currently computing, according to its record. */
export function isRunning(view: RunView): boolean {
	return view.status === 'running' && !view.queued && !isForeign(view);
}

/** Returns whether the run can be resumed in place. */
export function isResumable(view: RunView): boolean {
	return view.status === 'stopped' || view.status === 'crashed';
}

/** Returns whether the engine has finished, so that the run folder can be modified. */
export function hasEnded(view: RunView): boolean {
	return !isLive(view) && !isForeign(view);
}

/** Returns the user-assigned name, or the name in the recipe. */
export function nameOf(view: RunView): string {
	for (const name of [view.annotation?.name, view.record?.name]) {
		const shown = displayText(name ?? '');
		if (shown !== '') return shown;
	}
	return displayText(folderName(view.folder));
}

/** Text next to a run's name in a row: its start time, or its project and start time. */
export type Distinction = 'time' | 'project';

/**
 * Returns the names shared by several runs, with the text that distinguishes them; includes projects only if they
 * differ.
 */
export function sharedNames(views: readonly RunView[]): ReadonlyMap<string, Distinction> {
	const seen = new Map<string, string>();
	const shared = new Map<string, Distinction>();
	for (const view of views) {
		const name = nameOf(view);
		const project = projectOf(view.folder);
		const other = seen.get(name);
		if (other === undefined) seen.set(name, project);
		else if (other !== project) shared.set(name, 'project');
		else if (!shared.has(name)) shared.set(name, 'time');
	}
	return shared;
}

/** Returns the name of a run's project: the folder that contains its `runs` folder, or its parent folder. */
export function projectOf(folder: string): string {
	const parts = folder.split(/[\\/]/).filter((part) => part !== '');
	const runs = parts.lastIndexOf('runs', parts.length - 2);
	return displayText((runs > 0 ? parts[runs - 1] : parts[parts.length - 2]) ?? '', 60);
}

export function flagsOf(view: RunView): ItemFlag[] {
	if (isForeign(view)) return ['run', 'foreign'];
	const flags: ItemFlag[] = ['run'];
	flags.push(isLive(view) ? 'live' : 'ended');
	if (isRunning(view)) flags.push('running');
	if (view.status === 'paused') flags.push('paused');
	if (isResumable(view)) flags.push('resumable');
	return flags;
}

/** Returns the record's `elapsedSeconds`, or null if there is no record. */
export function elapsedOf(view: RunView, now: number): number | null {
	if (view.record === null) return null;
	const { created, updated, heartbeat } = view.record;
	const span = { created, updated: Math.max(updated, heartbeat), live: isLive(view), foreign: isForeign(view) };
	return elapsedSeconds(span, now);
}

/**
 * Sanitizes text from a run folder for display on one line. Run folders are not trusted, so control and bidirectional
 * characters are removed, `$(icon)` and links are broken up, and the length is limited.
 */
export function displayText(text: string, longest = 120): string {
	const clean = withoutHidden(withoutLinks(text)).replace(/\$\(/g, '$ (').replace(/\s+/g, ' ').trim();
	// Do not keep half of a surrogate pair.
	return clean.length > longest ? `${clean.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…` : clean;
}

/** Removes invisible characters (control, bidirectional, and zero-width), except for joiners in emoji. */
function withoutHidden(text: string): string {
	return text.replace(
		/(?!(?<=[\p{Extended_Pictographic}#*\d])[\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu,
		' ',
	);
}

/** Sanitizes a notification sentence that may quote untrusted text: removes links and hidden characters. */
export function plainSentence(text: string): string {
	return withoutHidden(withoutLinks(text));
}

/**
 * Breaks up `[text](target)`, which notifications would turn into a link. Its target could be a command with arguments,
 * so untrusted text must not become a link.
 */
export function withoutLinks(text: string): string {
	return text.replace(/\]\(/g, '] (');
}

function folderName(folder: string): string {
	return (
		folder
			.split(/[\\/]/)
			.filter((part) => part !== '')
			.pop() ?? folder
	);
}
