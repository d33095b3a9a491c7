import { basename } from 'node:path';
import * as vscode from 'vscode';
import {
	type RolloutsCommand,
	type RolloutsEvent,
	rolloutsCommandSchema,
	rolloutsRequests,
} from '../../protocol/rolloutsMessages.ts';
import { commandIds, panelTypes } from '../ids.ts';
import { displayText } from '../runView.ts';
import { type PanelContext, type RequestHandlers, RunPanel, RunPanels } from './panelBase.ts';
import { type RolloutsPlace, RolloutsSession } from './rolloutsSession.ts';

const app = {
	name: 'rollouts',
	viewType: panelTypes.rollouts,
	commands: rolloutsCommandSchema,
	requests: rolloutsRequests,
} as const;

/** Shows one run's rollouts: steps, groups, and the completions of a group side by side. */
export class RolloutsPanel extends RunPanel<RolloutsEvent, RolloutsCommand, typeof rolloutsRequests> {
	readonly #session: RolloutsSession;

	constructor(panel: vscode.WebviewPanel, context: PanelContext, runFolder: string) {
		super(panel, context, app, runFolder);
		this.#session = this.register(
			new RolloutsSession(runFolder, {
				post: (event) => this.post(event),
				onName: (name) => {
					this.title = `Rollouts: ${displayText(name, 60) || basename(runFolder)}`;
				},
				warn: (message) => this.log.warn(`rollouts: ${message}`),
			}),
		);
		this.handlers = {
			...this.#session.readers,
			copy: async ({ step, group, index, part }) => {
				await vscode.env.clipboard.writeText(await this.#session.text(step, group, index, part));
				return {};
			},
			openText: async ({ step, group, index }) => {
				const content = await this.#session.text(step, group, index, 'completion');
				await context.documents.show(`step ${step}, group ${group}, completion ${index}.trace`, content);
				return {};
			},
		};
		this.load(context);
	}

	/** Brings a step into view, now or as soon as the app hears. */
	show(place: RolloutsPlace): void {
		this.#session.show(place);
	}

	protected readonly handlers: RequestHandlers<typeof rolloutsRequests>;

	protected override onCommand(command: RolloutsCommand): void {
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
		}
	}

	protected override onHidden(): void {
		this.#session.sleep();
	}
}

/** The rollouts panels of the window, one per run. */
export class RolloutsPanels extends RunPanels<RolloutsPanel, RolloutsPlace> {
	constructor(context: PanelContext) {
		super(context, panelTypes.rollouts);
	}

	protected override create(panel: vscode.WebviewPanel, runFolder: string): RolloutsPanel {
		return new RolloutsPanel(panel, this.context, runFolder);
	}

	protected override apply(panel: RolloutsPanel, place: RolloutsPlace): void {
		panel.show(place);
	}
}
