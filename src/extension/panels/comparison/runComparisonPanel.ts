import { isAbsolute, normalize } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { comparedRuns } from '../../../protocol/comparedRuns.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import {
	type ComparisonCommand,
	type ComparisonEvent,
	comparisonCommandSchema,
	comparisonRequests,
	comparisonStateSchema,
} from '../../../protocol/runComparisonMessages.ts';
import { commandIds, panelTypes } from '../../ids.ts';
import { displayText } from '../../runView.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';
import { PinnedCharts } from '../pinnedCharts.ts';
import { RunComparisonSession } from './runComparisonSession.ts';

const app = {
	name: 'comparison',
	viewType: panelTypes.comparison,
	commands: comparisonCommandSchema,
	requests: comparisonRequests,
} as const;

/** A panel that compares two to eight runs, live or finished. */
export class RunComparisonPanel extends AppPanel<ComparisonEvent, ComparisonCommand, typeof comparisonRequests> {
	readonly folders: readonly string[];
	readonly #session: RunComparisonSession;
	protected readonly handlers: RequestHandlers<typeof comparisonRequests>;

	readonly #pinned: PinnedCharts;

	constructor(panel: vscode.WebviewPanel, context: ComparisonContext, folders: readonly string[]) {
		super(panel, context, app);
		this.folders = folders;
		const session = this.register(
			new RunComparisonSession({
				folders,
				post: (event) => this.post(event),
				onNames: (names) => {
					this.title = titleOf(names);
				},
			}),
		);
		this.#session = session;
		this.handlers = {
			recipes: () => session.recipes(),
			openRecipes: async ({ first, second }) => {
				const [left, right] = await Promise.all([first, second].map((run) => session.recipeText(run)));
				const names = [first, second].map((run) => displayText(session.name(run), 60));
				await context.documents.compare(
					{ name: `recipe of ${names[0]}.json`, content: left ?? '' },
					{ name: `recipe of ${names[1]}.json`, content: right ?? '' },
				);
				return {};
			},
			heldOut: () => session.heldOut(),
			pair: ({ first, second }) => session.pair(first, second),
			prompts: ({ all }) => session.searchPrompts(all),
			prompt: ({ hash, steps }) => session.showPrompt(hash, steps),
			openRollouts: async ({ run, ...place }) => {
				await vscode.commands.executeCommand(commandIds.openRollouts, session.folder(run), place);
				return {};
			},
		};
		this.#pinned = context.pinned;
		this.register(context.pinned.onChange(() => this.#postPinned()));
		this.load(context);
	}

	#postPinned(): void {
		void this.post({ type: 'pinned', charts: this.#pinned.charts });
	}

	protected override onCommand(command: ComparisonCommand): void {
		switch (command.type) {
			case 'ready':
				this.#postPinned();
				this.#session.begin();
				break;
			case 'choose':
				void vscode.commands.executeCommand(commandIds.compareRuns);
				break;
			case 'openDashboard':
				void vscode.commands.executeCommand(commandIds.openDashboard, this.#session.folder(command.run));
				break;
			case 'pin':
				void this.#pinned.pin(command.chart, command.pinned);
				break;
			case 'cancelPrompts':
				this.#session.cancelPrompts();
				break;
			case 'fault':
				this.log.error(`comparison: ${command.message}`);
				break;
		}
	}
}

interface ComparisonContext extends PanelContext {
	readonly pinned: PinnedCharts;
}

const keyOf = (folders: readonly string[]): string => JSON.stringify(folders.toSorted());

function titleOf(names: readonly string[]): string {
	const [first = '', second = '', ...more] = names.map((name) => displayText(name, 30));
	return `Compare: ${first}, ${second}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}

/** Creates the panel set for comparisons: one panel per set of runs in the order they were chosen. */
export function runComparisonPanels(
	needs: PanelContext & { readonly memory: vscode.Memento },
): PanelSet<RunComparisonPanel, readonly string[]> {
	const context = { ...needs, pinned: new PinnedCharts(needs.memory) };
	const chosen = (folders: readonly string[]) =>
		[...new Set(folders.map((folder) => normalize(folder)))].slice(0, comparedRuns.max);
	return new PanelSet<RunComparisonPanel, readonly string[]>(context.extensionUri, {
		viewType: panelTypes.comparison,
		what: 'this comparison',
		key: (folders) => keyOf(chosen(folders)),
		title: () => 'Comparison',
		create: (panel, folders) => new RunComparisonPanel(panel, context, chosen(folders)),
		restore(state) {
			const { folders } = decodeOrThrow(comparisonStateSchema, state, 'The saved view state');
			if (!folders.every((folder) => isAbsolute(folder) && normalize(folder) === folder)) {
				throw new Failure(
					'invalid',
					'The saved view state does not contain absolute paths.',
					'Compare the runs again.',
				);
			}
			return folders;
		},
	});
}
