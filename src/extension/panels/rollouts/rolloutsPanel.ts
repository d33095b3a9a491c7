import { basename } from 'node:path';
import * as vscode from 'vscode';
import {
	type PanelCommand,
	type PanelEvent,
	panelCommandSchema,
	panelRequests,
} from '../../../protocol/explorerMessages.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { Place } from '../../../protocol/rolloutsMessages.ts';
import type { ServeOptions } from '../../../runs/servedCheckpoint.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import type { Notices } from '../../notices.ts';
import type { ContinueFrom } from '../../rollouts/continueFrom.ts';
import { displayText } from '../../runView.ts';
import { settings } from '../../settings.ts';
import { type PanelContext, type RequestHandlers, RunPanel } from '../panelBase.ts';
import type { PanelSet } from '../panelSet.ts';
import { runPanels } from '../runPanels.ts';
import type { IndexAnswers } from './indexedScan.ts';
import { type RolloutsPlace, RolloutsSession } from './rolloutsSession.ts';
import { RunExplorer } from './runExplorer.ts';

const app = {
	name: 'rollouts',
	viewType: panelTypes.rollouts,
	commands: panelCommandSchema,
	requests: panelRequests,
} as const;

/** Dependencies of this panel beyond those that all panels share. */
export interface RolloutsContext extends PanelContext {
	/** Returns the programs for serving checkpoints. Fails if starting them is not allowed. */
	readonly programs: () => Promise<Pick<ServeOptions, 'engine' | 'node' | 'environment'>>;
	/** Name of this extension in engine logs. */
	readonly client: string;
	readonly notices: Notices;
	/** Opens a rollout's episode in the episode view. */
	readonly openEpisode: (run: string, line: RolloutLine) => Promise<void>;
	/** Rollout index, which speeds up scans of a run. */
	readonly rolloutIndex?: IndexAnswers;
}

/** A panel with a run's rollouts: steps, groups, completions side by side, and their evolution over training. */
export class RolloutsPanel extends RunPanel<PanelEvent, PanelCommand, typeof panelRequests> {
	readonly #session: RolloutsSession;
	readonly #explorer: RunExplorer;
	#continuing: Promise<ContinueFrom> | null = null;

	constructor(panel: vscode.WebviewPanel, context: RolloutsContext, runFolder: string) {
		super(panel, context, app, runFolder);
		const session = this.register(
			new RolloutsSession(runFolder, {
				post: (event) => this.post(event),
				onName: (name) => {
					this.title = `Rollouts: ${displayText(name, 60) || basename(runFolder)}`;
				},
				warn: (message) => this.log.warn(`rollouts: ${message}`),
			}),
		);
		this.#session = session;
		this.#explorer = this.register(
			new RunExplorer({
				content: () => session.content(),
				rollout: (place) => session.rollout(place),
				tags: () => session.tags,
				rater: () => settings.rater(),
				post: (event) => this.post(event),
				continueFrom: () => this.#continueFrom(context),
				rolloutIndex: context.rolloutIndex ? { answers: context.rolloutIndex, folder: runFolder } : null,
			}),
		);
		this.handlers = {
			...session.readers,
			...this.#explorer.readers,
			copy: async ({ part, ...place }) => {
				await vscode.env.clipboard.writeText(await session.text(place, part));
				return {};
			},
			openText: async (place) => {
				const content = await session.text(place, 'completion');
				await context.documents.show(`${placeName(place)}.trace`, content);
				return {};
			},
			searchProblem: async (place) => {
				const { problemOfRollout } = await import('../../search/problemOfRollout.ts');
				const problem = await problemOfRollout(runFolder, await session.rollout(place));
				await vscode.commands.executeCommand(commandIds.newSearch, { problem });
				return {};
			},
			openTranscript: async (place) => {
				await vscode.commands.executeCommand(commandIds.openTranscript, { kind: 'rollout', run: runFolder, ...place });
				return {};
			},
			openEpisode: async (place) => {
				try {
					await context.openEpisode(runFolder, await session.rollout(place));
				} catch (error) {
					context.notices.failure(error);
				}
				return {};
			},
			openDiff: async ({ left, right }) => {
				const [a, b] = await Promise.all([session.text(left, 'completion'), session.text(right, 'completion')]);
				await context.documents.compare(
					{ name: `${placeName(left)}.trace`, content: a },
					{ name: `${placeName(right)}.trace`, content: b },
				);
				return {};
			},
			export: async (request) => {
				const [{ exportDialog }, run] = await Promise.all([
					import('../../rollouts/exportDialog.ts'),
					session.content(),
				]);
				return { written: await exportDialog(run, request, session.name, context.notices) };
			},
		};
		this.load(context);
	}

	/** Scrolls to a step, immediately or once the app has started. */
	show(place: RolloutsPlace): void {
		this.#session.show(place);
	}

	protected readonly handlers: RequestHandlers<typeof panelRequests>;

	/** Created when a completion is first continued. An engine that serves a checkpoint stops when the panel closes. */
	#continueFrom({ programs, client }: RolloutsContext): Promise<ContinueFrom> {
		this.#continuing ??= Promise.all([import('../../rollouts/continueFrom.ts'), this.#session.content()]).then(
			([{ ContinueFrom: Made }, run]) => this.register(new Made({ run, programs, name: client })),
		);
		// Allow another attempt, because the run may become readable later.
		this.#continuing.catch(() => {
			this.#continuing = null;
		});
		return this.#continuing;
	}

	protected override onCommand(command: PanelCommand): void {
		switch (command.type) {
			case 'ready':
				void this.#session.begin();
				break;
			case 'openDashboard':
				void vscode.commands.executeCommand(commandIds.openDashboard, this.runFolder);
				break;
			case 'fault':
				this.log.error(`rollouts: ${command.message}`);
				break;
			default:
				this.#explorer.take(command);
				break;
		}
	}
}

/** Returns a display name, such as "step 40, group 2, completion 3". */
function placeName({ split, step, group, index }: Place): string {
	return `${split === 'validation' ? 'validation, ' : ''}step ${step}, group ${group}, completion ${index}`;
}

/** Creates the panel set for rollouts, with one panel per run. */
export function rolloutsPanels(context: RolloutsContext): PanelSet<RolloutsPanel, string, RolloutsPlace> {
	return runPanels(
		context,
		panelTypes.rollouts,
		(panel, folder) => new RolloutsPanel(panel, context, folder),
		(panel, place: RolloutsPlace) => panel.show(place),
	);
}
