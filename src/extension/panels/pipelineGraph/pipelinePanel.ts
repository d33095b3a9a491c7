import { basename, isAbsolute, join, normalize } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import {
	type GraphStage,
	type PipelineAction,
	type PipelineGraphCommand,
	type PipelineGraphEvent,
	pipelineGraphCommandSchema,
	pipelineGraphRequests,
	pipelineGraphStateSchema,
} from '../../../protocol/pipelineGraphMessages.ts';
import type { PipelineView } from '../../../runs/pipeline/pipelineView.ts';
import { type CommandId, commandIds, panelTypes } from '../../ids.ts';
import type { PipelineStore } from '../../pipelines/pipelineStore.ts';
import { displayText } from '../../runView.ts';
import { AppPanel, type PanelContext, type RequestHandlers } from '../panelBase.ts';
import { PanelSet } from '../panelSet.ts';

const app = {
	name: 'pipelineGraph',
	viewType: panelTypes.pipelineGraph,
	commands: pipelineGraphCommandSchema,
	requests: pipelineGraphRequests,
} as const;

export interface PipelinePanelNeeds extends PanelContext {
	readonly pipelines: PipelineStore;
}

const actionCommands: Readonly<Record<PipelineAction, CommandId>> = {
	resume: commandIds.resumePipeline,
	stop: commandIds.stopPipeline,
	recipe: commandIds.openPipelineRecipe,
	log: commandIds.openPipelineLog,
};

/** Panel with the graph of a pipeline's stages. Follows the pipeline and only reads files. */
class PipelinePanel extends AppPanel<PipelineGraphEvent, PipelineGraphCommand, typeof pipelineGraphRequests> {
	readonly #pipelines: PipelineStore;
	readonly #folder: string;
	#sent = '';
	protected readonly handlers: RequestHandlers<typeof pipelineGraphRequests> = {};

	constructor(panel: vscode.WebviewPanel, needs: PipelinePanelNeeds, folder: string) {
		super(panel, needs, app);
		this.#pipelines = needs.pipelines;
		this.#folder = folder;
		this.register(needs.pipelines.onDidChange(() => this.#send()));
		this.load(needs);
	}

	#send(): void {
		const view = this.#pipelines.get(this.#folder);
		const event: PipelineGraphEvent =
			view === undefined ? { type: 'missing', folder: this.#folder } : pipelineEventOf(view);
		if (event.type === 'pipeline') this.title = `Pipeline: ${event.name}`;
		const text = JSON.stringify(event);
		if (text === this.#sent) return;
		this.#sent = text;
		void this.post(event);
	}

	protected override onCommand(command: PipelineGraphCommand): void {
		switch (command.type) {
			case 'ready':
				this.#sent = '';
				// A restored panel might be the first to refer to this folder.
				void this.#pipelines.expect(this.#folder).then(() => this.#send());
				break;
			case 'open':
				void this.#open(command.stage);
				break;
			case 'act':
				void vscode.commands.executeCommand(actionCommands[command.action], this.#folder);
				break;
			case 'fault':
				this.log.error(`pipeline: ${command.message}`);
				break;
		}
	}

	/** Opens a stage's output. Names from the page are looked up and never used as paths. */
	async #open(name: string): Promise<void> {
		const stage = this.#pipelines.get(this.#folder)?.stages.find((one) => one.name === name);
		if (stage === undefined) return;
		const { folder, type } = stage;
		if (type === 'evaluate') await vscode.commands.executeCommand(commandIds.showEvaluations, folder);
		else if (type === 'search') {
			const file = this.#pipelines.dataOf(folder);
			if (file !== null) await vscode.commands.executeCommand(commandIds.openDataset, file);
		} else await vscode.commands.executeCommand(commandIds.openDashboard, folder);
	}
}

/** Returns the message for a pipeline, with all text shortened to a single line. */
export function pipelineEventOf({ folder, name, status, record, stages }: PipelineView): PipelineGraphEvent {
	const states = new Map(record.stages.map((state) => [state.name, state]));
	return {
		...{ type: 'pipeline', folder, status },
		name: displayText(name, 200),
		stages: stages.slice(0, 1000).map((stage): GraphStage => {
			const { name: id, type, status: state, done, total, accuracy, seconds, device, tokens, costs, why } = stage;
			const round = states.get(id)?.round ?? null;
			const runner = type === 'search' || type === 'evaluate';
			return {
				...{ name: id, status: state, done, total, accuracy, seconds, tokens },
				device: device === null ? null : displayText(device, 60),
				costs: costs.slice(0, 20).map(({ amount, currency }) => ({ amount, currency: displayText(currency, 10) })),
				type: displayText(type, 60),
				round: round === null ? null : { of: displayText(round.of, 100), number: round.number },
				after: states.get(id)?.after.slice(0, 100) ?? [],
				why: why === null ? null : displayText(why, 300),
				opens: runner ? state === 'finished' : done !== null,
			};
		}),
	};
}

/** Creates the panel set, with one panel per pipeline. */
export function pipelinePanels(needs: PipelinePanelNeeds): PanelSet<PipelinePanel, string> {
	return new PanelSet<PipelinePanel, string>(needs.extensionUri, {
		viewType: panelTypes.pipelineGraph,
		what: 'this pipeline',
		key: normalize,
		title: (folder) => `Pipeline: ${displayText(basename(normalize(folder)), 60)}`,
		create: (panel, folder) => new PipelinePanel(panel, needs, normalize(folder)),
		restore(state) {
			const { folder } = decodeOrThrow(pipelineGraphStateSchema, state, 'The saved view state');
			if (isAbsolute(folder)) return join(folder);
			throw new Failure(
				'invalid',
				'The saved view state does not contain an absolute path.',
				'Open the pipeline again.',
			);
		},
	});
}
