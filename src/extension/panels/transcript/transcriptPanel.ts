import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname, isAbsolute, normalize } from 'node:path';
import * as vscode from 'vscode';
import { toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import {
	type TranscriptCommand,
	type TranscriptEvent,
	type TranscriptPlace,
	transcriptCommandSchema,
	transcriptRequests,
	transcriptStateSchema,
} from '../../../protocol/transcriptMessages.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import { showError } from '../../plainMessages.ts';
import { showQuickPick } from '../../quickInput.ts';
import { displayText } from '../../runView.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';
import { TranscriptSession } from './transcriptSession.ts';

const app = {
	name: 'transcript',
	viewType: panelTypes.transcript,
	commands: transcriptCommandSchema,
	requests: transcriptRequests,
} as const;

/** Minimum interval between checks of a growing file, in milliseconds. */
const pauseMs = 700;

/** A read-only panel that shows a chat log and follows it as it grows. */
export class TranscriptPanel extends AppPanel<TranscriptEvent, TranscriptCommand, typeof transcriptRequests> {
	readonly place: TranscriptPlace;
	readonly #session: TranscriptSession;
	readonly #documents: PanelContext['documents'];
	#timer: NodeJS.Timeout | undefined;

	constructor(panel: vscode.WebviewPanel, context: PanelContext, place: TranscriptPlace) {
		super(panel, context, app);
		this.place = place;
		this.#documents = context.documents;
		this.title = titleOf(place);
		this.#session = this.register(
			new TranscriptSession({ place, label: labelOf(place), post: (event) => void this.post(event) }),
		);
		this.handlers = {
			loadText: ({ version, from }) => this.#session.piece(version, from),
			loadLines: ({ version, from, count }) => this.#session.lines(version, from, count),
		};
		if (place.kind === 'file') this.#follow(place.file);
		this.load(context);
	}

	protected readonly handlers: RequestHandlers<typeof transcriptRequests>;

	protected override onCommand(command: TranscriptCommand): void {
		switch (command.type) {
			case 'ready':
				void this.#session.begin();
				break;
			case 'again':
				void this.#session.refresh();
				break;
			case 'openSource':
				this.#settle(this.#openSource(command.line, command.column));
				break;
			case 'chooseSample':
				this.#settle(this.#chooseSample(command.index));
				break;
			case 'openOther':
				void vscode.commands.executeCommand(commandIds.openTranscript, null);
				break;
			case 'copy':
				this.#settle(vscode.env.clipboard.writeText(command.text));
				break;
			case 'openText':
				this.#settle(this.#documents.show(command.name, command.text));
				break;
			case 'fault':
				this.log.error(`transcript: ${command.message}`);
				break;
		}
	}

	#settle(work: Thenable<unknown>): void {
		work.then(undefined, (error: unknown) => {
			this.log.warn(String(error));
			showError(Failure.from(error).toString());
		});
	}

	async #openSource(line: number | null, column: number | null): Promise<void> {
		const { place } = this;
		if (place.kind === 'rollout') {
			await vscode.commands.executeCommand(commandIds.openRollouts, place.run, {
				split: place.split,
				step: place.step,
				group: place.group,
				index: place.index,
			});
			return;
		}
		const at = new vscode.Position(Math.max(0, (line ?? 1) - 1), Math.max(0, (column ?? 1) - 1));
		await vscode.window.showTextDocument(vscode.Uri.file(place.file), { selection: new vscode.Range(at, at) });
	}

	async #chooseSample(index: number | null): Promise<void> {
		const items = () =>
			this.#session.samples.map((title, at) => ({ label: displayText(title, 200), description: `${at + 1}`, at }));
		const options = { placeHolder: 'Select a sample', matchOnDescription: true };
		const sample = index ?? (await showQuickPick(items(), options))?.at;
		if (sample !== undefined) await this.#session.choose(sample);
	}

	/** Watches the containing folder, because editors and other programs often replace files. */
	#follow(file: string): void {
		const name = basename(file);
		let watcher: FSWatcher;
		try {
			watcher = watch(dirname(file), { persistent: false }, (_event, changed) => {
				if (changed === null || changed === name) this.#soon();
			});
		} catch (error) {
			this.log.warn(`Cannot watch ${file}: ${String(error)}`);
			return;
		}
		watcher.on('error', (error) => this.log.warn(`Stopped watching ${file}: ${String(error)}`));
		this.register(toDisposable(() => watcher.close()));
		this.register(toDisposable(() => clearTimeout(this.#timer)));
	}

	#soon(): void {
		if (this.#timer !== undefined) return;
		this.#timer = setTimeout(() => {
			this.#timer = undefined;
			void this.#session.refresh();
		}, pauseMs);
	}
}

function keyOf(place: TranscriptPlace): string {
	return place.kind === 'file'
		? JSON.stringify([place.file])
		: JSON.stringify([place.run, place.split, place.step, place.group, place.index]);
}

function titleOf(place: TranscriptPlace): string {
	return `Transcript: ${displayText(basename(place.kind === 'file' ? place.file : place.run), 60)}`;
}

function labelOf(place: TranscriptPlace): string {
	if (place.kind === 'file') return vscode.workspace.asRelativePath(place.file);
	const { run, split, step, group, index } = place;
	const where = split === 'validation' ? `evaluation at step ${step}` : `step ${step}`;
	return `${basename(run)}, ${where}, group ${group}, completion ${index}`;
}

/** Creates the panel set for transcripts, with one panel per file or rollout. */
export function transcriptPanels(context: PanelContext): PanelSet<TranscriptPanel, TranscriptPlace> {
	return new PanelSet<TranscriptPanel, TranscriptPlace>(context.extensionUri, {
		viewType: panelTypes.transcript,
		what: 'this transcript',
		key: keyOf,
		title: titleOf,
		create: (panel, place) => new TranscriptPanel(panel, context, place),
		restore(state) {
			const { place } = decodeOrThrow(transcriptStateSchema, state, 'The saved view state');
			const path = place.kind === 'file' ? place.file : place.run;
			if (!isAbsolute(path) || normalize(path) !== path) {
				throw new Failure('invalid', 'The path in the saved view state is not absolute.', 'Open the transcript again.');
			}
			return place;
		},
	});
}
