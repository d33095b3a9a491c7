import { lstat } from 'node:fs/promises';
import { basename, isAbsolute, normalize } from 'node:path';
import * as vscode from 'vscode';
import type { Event } from '../../../base/event.ts';
import { Failure } from '../../../base/failure.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import {
	type StrategiesCommand,
	type StrategiesEvent,
	strategiesCommandSchema,
	strategiesRequests,
	strategiesStateSchema,
} from '../../../protocol/strategiesMessages.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import { showError } from '../../plainMessages.ts';
import { displayText } from '../../runView.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';
import { StrategiesSession } from './strategiesSession.ts';

/** Actions that a panel delegates. */
export interface StrategiesActions {
	goOn(folder: string): Promise<void>;
	stop(folder: string): Promise<void>;
	running(folder: string): boolean;
	forbidden(): string | null;
	/** Fires when a comparison in this window starts, continues, or ends. */
	readonly onChanged: Event<void>;
}

const app = {
	name: 'strategies',
	viewType: panelTypes.strategies,
	commands: strategiesCommandSchema,
	requests: strategiesRequests,
} as const;

/** A panel that shows a strategy comparison and follows it while it is running. */
class StrategiesPanel extends AppPanel<StrategiesEvent, StrategiesCommand, typeof strategiesRequests> {
	readonly #folder: string;
	readonly #session: StrategiesSession;
	readonly #actions: StrategiesActions;
	protected readonly handlers: RequestHandlers<typeof strategiesRequests>;

	constructor(panel: vscode.WebviewPanel, context: PanelContext, actions: StrategiesActions, folder: string) {
		super(panel, context, app);
		this.#folder = folder;
		this.#actions = actions;
		this.title = titleOf(folder);
		const session = this.register(
			new StrategiesSession({
				folder,
				post: (event) => void this.post(event),
				own: () => actions.running(folder),
				forbidden: () => actions.forbidden(),
			}),
		);
		this.#session = session;
		this.register(actions.onChanged(() => void session.look()));
		this.register(vscode.workspace.onDidGrantWorkspaceTrust(() => void session.look()));
		this.handlers = {
			searches: ({ point, which, from }) => session.searches(point, which, from),
			open: async ({ point, problem }) => {
				const log = await session.treeOf(point, problem);
				await vscode.commands.executeCommand(commandIds.openSearchTree, log);
				return {};
			},
			copy: async ({ text }) => {
				await vscode.env.clipboard.writeText(text);
				return {};
			},
		};
		this.load(context);
	}

	protected override onCommand(command: StrategiesCommand): void {
		switch (command.type) {
			case 'ready':
				void this.#session.begin();
				break;
			case 'stop':
				this.#settle(this.#actions.stop(this.#folder));
				break;
			case 'goOn':
				this.#settle(this.#actions.goOn(this.#folder));
				break;
			case 'choose':
				void vscode.commands.executeCommand(commandIds.compareStrategies);
				break;
			case 'fault':
				this.log.error(`strategies: ${command.message}`);
				break;
		}
	}

	#settle(work: Promise<void>): void {
		work
			.then(() => this.#session.look())
			.catch((error: unknown) => {
				const failure = Failure.from(error);
				if (failure.reason === 'cancelled') return;
				this.log.warn(failure.toString());
				showError(failure.toString());
			});
	}
}

function titleOf(folder: string): string {
	return `Strategies: ${displayText(basename(folder), 60)}`;
}

/** Creates the panel set for strategy comparisons, with one panel per folder. */
export function strategiesPanels(context: PanelContext, actions: StrategiesActions): PanelSet<StrategiesPanel, string> {
	return new PanelSet<StrategiesPanel, string>(context.extensionUri, {
		viewType: panelTypes.strategies,
		what: 'this comparison',
		key: normalize,
		title: (folder) => titleOf(normalize(folder)),
		create: (panel, folder) => new StrategiesPanel(panel, context, actions, normalize(folder)),
		async restore(state) {
			const { folder } = decodeOrThrow(strategiesStateSchema, state, 'The saved view state');
			if (!isAbsolute(folder) || normalize(folder) !== folder) {
				throw new Failure(
					'invalid',
					'The saved view state does not contain an absolute path.',
					'Open the comparison again.',
				);
			}
			if (!(await lstat(folder).catch(() => null))?.isDirectory()) {
				throw new Failure('missing', `${folder} no longer exists.`, 'Open another comparison.');
			}
			return folder;
		},
	});
}
