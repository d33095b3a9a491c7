import { basename, relative } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { ownFormat } from '../../runs/annotationFolder.ts';
import { noRun } from '../../runs/openRun.ts';
import type { RunRegistry } from '../../runs/runRegistry.ts';
import { type FoundRun, type RunsBelow, runsBelow } from '../../runs/runsBelow.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';

export interface AddedRun {
	readonly folder: string;
	/** Whether another trainer wrote the run. */
	readonly foreign: boolean;
}

/** Maximum number of runs preselected in the list. */
const addedUnasked = 50;

/**
 * Finds runs from any trainer in a folder, asks the user to choose if several runs or readers match, and adds the
 * chosen runs to the registry. Does not write to the folder. Fails with `invalid` if no run is found; the error lists
 * what was searched for.
 * @returns null if the user canceled
 */
export async function addRuns(
	folder: string,
	registry: RunRegistry,
	format: string | undefined,
): Promise<AddedRun[] | null> {
	const found = await search(folder);
	if (found === null) return null;
	if (found.runs.length === 0) throw nothing(folder, found);
	const chosen = await choose(folder, found);
	const added: AddedRun[] = [];
	for (const run of chosen ?? []) {
		const reader = await readerOf(run, format);
		if (reader === undefined) return null;
		if (reader === ownFormat) await registry.add(run.folder);
		else await registry.add(run.folder, reader);
		added.push({ folder: run.folder, foreign: reader !== ownFormat });
	}
	return chosen === undefined ? null : added;
}

function search(folder: string): Thenable<RunsBelow | null> {
	const options = {
		location: vscode.ProgressLocation.Notification,
		title: `Searching for runs in ${displayText(basename(folder), 60)}`,
		cancellable: true,
	};
	return vscode.window.withProgress(options, async (_, token) => {
		const signal = {
			get aborted() {
				return token.isCancellationRequested;
			},
		};
		try {
			return await runsBelow(folder, {}, signal);
		} catch (error) {
			if (Failure.from(error).reason === 'cancelled') return null;
			throw error;
		}
	});
}

function nothing(folder: string, { cut, folders }: RunsBelow): Failure {
	const failure = noRun(folder);
	if (!cut) return failure;
	return new Failure(
		'invalid',
		`${failure.message} The search stopped after ${folders} folders.`,
		'Choose a folder closer to the run.',
	);
}

/** Returns all runs if Reasoning Lab wrote them; otherwise, lets the user choose. */
async function choose(folder: string, { runs, cut }: RunsBelow): Promise<readonly FoundRun[] | undefined> {
	const isOwn = (run: FoundRun) => run.formats[0]?.name === ownFormat;
	if (runs.length === 1 || (runs.every(isOwn) && runs.length <= addedUnasked)) return runs;
	const picked = await showQuickPick(
		runs.map((run) => ({
			label: displayText(relative(folder, run.folder) || basename(run.folder)),
			description: run.formats.map(({ title }) => title).join(' or '),
			picked: runs.length <= addedUnasked,
			run,
		})),
		{
			title: `${runs.length}${cut ? ' or more' : ''} runs found`,
			placeHolder: 'Select runs to open',
			canPickMany: true,
			matchOnDescription: true,
		},
	);
	return picked === undefined || picked.length === 0 ? undefined : picked.map(({ run }) => run);
}

/** Returns the reader for a run: the requested one, the only match, or the user's choice. */
async function readerOf({ folder, formats }: FoundRun, wanted: string | undefined): Promise<string | undefined> {
	const known = formats.find(({ name }) => name === wanted) ?? (formats.length === 1 ? formats[0] : undefined);
	if (known !== undefined) return known.name;
	const picked = await showQuickPick(
		formats.map(({ name, title }, i) => ({ label: title, ...(i === 0 ? { description: 'most likely' } : {}), name })),
		{ title: `${displayText(basename(folder), 60)} matches several trainers`, placeHolder: 'Select a trainer' },
	);
	return picked?.name;
}
