import { elapsedSeconds } from '../protocol/runElapsed.ts';
import type { AnyRunRecord, RunAnnotation, RunStatus } from '../protocol/runRecord.ts';
import type { ItemFlag } from './ids.ts';

/** What the lists, the status bar and the notifications know of one run: a complete snapshot, replaced on change. */
export interface RunView {
	/** Absolute path; the identity of the run on this machine. */
	readonly folder: string;
	/** null: run.json does not exist (yet) or cannot be read; `fault` says why. */
	readonly record: AnyRunRecord | null;
	/** As judged from record, heartbeat and process: a `running` record without an engine reads as `crashed`. */
	readonly status: RunStatus | 'unreadable';
	/** The run waits for its device, or its job for room on the cluster. */
	readonly queued: boolean;
	readonly fault: string | null;
	readonly annotation: RunAnnotation | null;
	/** Mean reward of the newest step that has one. */
	readonly reward: number | null;
	/** Newest held-out accuracy, 0 to 1. */
	readonly accuracy: number | null;
	/** Generated tokens per second at the newest step. */
	readonly tokensPerSecond: number | null;
}

/** Whether another trainer wrote it: it can be inspected, and nothing here starts, stops or changes it. */
export function isForeign(view: RunView): boolean {
	return view.record?.engine === 'foreign';
}

/** Whether an engine of ours is at work on it. */
export function isLive(view: RunView): boolean {
	if (isForeign(view)) return false;
	return view.status === 'starting' || view.status === 'running' || view.status === 'paused';
}

/** Whether it computes now, as far as its record tells. */
export function isRunning(view: RunView): boolean {
	return view.status === 'running' && !view.queued && !isForeign(view);
}

/** Whether its engine can take it up again in place. */
export function isResumable(view: RunView): boolean {
	return view.status === 'stopped' || view.status === 'crashed';
}

/** Whether its engine is done with it, so that its folder may be changed. */
export function hasEnded(view: RunView): boolean {
	return !isLive(view) && !isForeign(view);
}

/** The name a person gave it, else the recipe's. */
export function nameOf(view: RunView): string {
	for (const name of [view.annotation?.name, view.record?.name]) {
		const shown = displayText(name ?? '');
		if (shown !== '') return shown;
	}
	return displayText(folderName(view.folder));
}

/** Names that several runs have. */
export function sharedNames(views: readonly RunView[]): ReadonlySet<string> {
	const seen = new Set<string>();
	const shared = new Set<string>();
	for (const view of views) {
		const name = nameOf(view);
		if (seen.has(name)) shared.add(name);
		seen.add(name);
	}
	return shared;
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

/** As `elapsedSeconds` of the record; null also without one. */
export function elapsedOf(view: RunView, now: number): number | null {
	if (view.record === null) return null;
	const { created, updated, heartbeat } = view.record;
	const span = { created, updated: Math.max(updated, heartbeat), live: isLive(view), foreign: isForeign(view) };
	return elapsedSeconds(span, now);
}

/**
 * Text of a run folder for one line on screen: run folders are not trusted, so control and direction-changing characters
 * go, `$(icon)` and links are broken up, and the length is bounded.
 */
export function displayText(text: string, longest = 120): string {
	const clean = withoutHidden(withoutLinks(text)).replace(/\$\(/g, '$ (').replace(/\s+/g, ' ').trim();
	// Half of a pair of surrogates would be a character of its own.
	return clean.length > longest ? `${clean.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…` : clean;
}

/** Without what is not seen but acts: controls, marks of direction, invisible characters; that of an emoji stays. */
function withoutHidden(text: string): string {
	return text.replace(
		/(?!(?<=[\p{Extended_Pictographic}#*\d])[\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu,
		' ',
	);
}

/** A sentence for a notification, which may quote what somebody else wrote: no link comes of it, and nothing in it is hidden. */
export function plainSentence(text: string): string {
	return withoutHidden(withoutLinks(text));
}

/**
 * Notifications make links of `[words](target)`, and such a target may be a command with arguments: text that somebody
 * else wrote must not become one.
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
