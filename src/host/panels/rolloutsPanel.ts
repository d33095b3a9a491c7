import * as vscode from 'vscode';
import {
	type CopyPart,
	type RolloutsCommand,
	type RolloutsEvent,
	type RunHeader,
	rolloutsCommandSchema,
	rolloutsRequests,
} from '../../protocol/rolloutsMessages.ts';
import type { RunRecord, RunStatus } from '../../protocol/runRecord.ts';
import { listRolloutSteps } from '../../runs/runReader.ts';
import { RunTail } from '../../runs/runTail.ts';
import { commandIds, panelTypes } from '../ids.ts';
import { type PanelContext, type RequestHandlers, RunPanel, RunPanels } from './panelBase.ts';
import { type RecipeFacts, readRecipeFacts } from './rolloutsHeader.ts';
import { RolloutsSource } from './rolloutsSource.ts';
import { RolloutsSteps } from './rolloutsSteps.ts';
import { textOf } from './rolloutText.ts';

const app = {
	name: 'rollouts',
	viewType: panelTypes.rollouts,
	commands: rolloutsCommandSchema,
	requests: rolloutsRequests,
} as const;

/** Between two `news` events: a fast run must not flood the webview. */
const newsMs = 250;

export interface RolloutsPlace {
	readonly step: number;
	readonly group?: number;
}

/** Shows one run's rollouts: steps, groups, and the completions of a group side by side. */
export class RolloutsPanel extends RunPanel<RolloutsEvent, RolloutsCommand, typeof rolloutsRequests> {
	readonly #source: RolloutsSource;
	readonly #steps = new RolloutsSteps();
	readonly #loading = new Map<'loadStep' | 'loadGroup' | 'search', AbortController>();
	#tail: RunTail | null = null;
	#synced = false;
	#record: RunRecord | null = null;
	#status: RunStatus | null = null;
	#recipe: RecipeFacts = { think: null, answer: null, weights: [] };
	#headerChanged = false;
	#sequence = 0;
	#newsTimer: NodeJS.Timeout | null = null;
	#wanted: RolloutsPlace | null = null;

	constructor(panel: vscode.WebviewPanel, context: PanelContext, runFolder: string) {
		super(panel, context, app, runFolder);
		this.#source = new RolloutsSource(runFolder);
		this.register({ dispose: () => this.onHidden() });
		this.load(context);
	}

	/** Brings a step into view, now or as soon as the app hears. */
	show(place: RolloutsPlace): void {
		this.#wanted = place;
		this.#sendWanted();
	}

	protected readonly handlers: RequestHandlers<typeof rolloutsRequests> = {
		loadStep: ({ step }) => this.#latest('loadStep', (signal) => this.#source.step(step, signal)),
		loadGroup: ({ step, group }) => this.#latest('loadGroup', (signal) => this.#source.group(step, group, signal)),
		loadCompletion: async ({ step, group, index }) => ({
			completion: textOf((await this.#source.rollout(step, group, index)).completion),
		}),
		loadTokens: ({ step, group, index }) => this.#source.tokens(step, group, index),
		search: ({ step, text }) => this.#latest('search', (signal) => this.#source.search(step, text, signal)),
		copy: async ({ step, group, index, part }) => {
			await vscode.env.clipboard.writeText(await this.#text(step, group, index, part));
			return {};
		},
		openText: async ({ step, group, index }) => {
			const content = await this.#text(step, group, index, 'completion');
			const document = await vscode.workspace.openTextDocument({ content, language: 'plaintext' });
			await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true });
			return {};
		},
	};

	protected override onCommand(command: RolloutsCommand): void {
		switch (command.type) {
			case 'ready':
				void this.#begin();
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
		this.#tail?.dispose();
		this.#tail = null;
		this.#synced = false;
		for (const controller of this.#loading.values()) controller.abort();
		this.#loading.clear();
		if (this.#newsTimer !== null) clearTimeout(this.#newsTimer);
		this.#newsTimer = null;
	}

	/** Only the newest request of a kind matters: one that scrubs through steps does not wait for those passed. */
	async #latest<T>(kind: 'loadStep' | 'loadGroup' | 'search', task: (signal: AbortSignal) => Promise<T>): Promise<T> {
		this.#loading.get(kind)?.abort();
		const controller = new AbortController();
		this.#loading.set(kind, controller);
		return task(controller.signal);
	}

	async #begin(): Promise<void> {
		if (this.#tail !== null) {
			if (this.#synced) this.#sendSnapshot();
			return;
		}
		this.#steps.clear();
		const tail = new RunTail(this.runFolder);
		this.#tail = tail;
		this.#recipe = await readRecipeFacts(this.runFolder);
		if (this.#tail !== tail) return;
		tail.onEvent((event) => {
			switch (event.kind) {
				case 'reset':
					this.#steps.clear();
					this.#source.clear();
					this.#synced = false;
					break;
				case 'record':
					this.#record = event.record;
					this.#status = event.status;
					this.title = `Rollouts: ${event.record.name}`;
					this.#headerChanged = true;
					break;
				case 'metrics':
					this.#steps.addMetrics(event.lines);
					break;
				case 'rollouts':
					this.#steps.addSteps(event.steps);
					break;
				case 'synced':
					if (this.#synced) this.#scheduleNews();
					else this.#sendSnapshot();
					break;
				case 'error':
					this.log.warn(`rollouts: ${event.failure.toString()}`);
					// Without a readable record the rollouts that are there can still be read.
					if (!this.#synced) void this.#listAlone(tail);
					break;
			}
		});
		tail.start();
	}

	async #listAlone(tail: RunTail): Promise<void> {
		const steps = await listRolloutSteps(this.runFolder);
		if (this.#tail !== tail || this.#synced) return;
		this.#steps.addSteps(steps);
		this.#sendSnapshot();
	}

	#header(): RunHeader {
		return {
			folder: this.runFolder,
			name: this.#record?.name ?? '',
			status: this.#status,
			stage: this.#record?.stage ?? null,
			step: this.#record?.step ?? null,
			...this.#recipe,
		};
	}

	#sendSnapshot(): void {
		this.#synced = true;
		this.#headerChanged = false;
		this.#sequence++;
		this.post({ type: 'snapshot', sequence: this.#sequence, run: this.#header(), steps: this.#steps.snapshot() });
		this.#sendWanted();
	}

	#sendWanted(): void {
		if (this.#wanted === null || !this.#synced || !this.listening) return;
		const { step, group } = this.#wanted;
		this.#wanted = null;
		this.post({ type: 'reveal', step, group: group ?? null });
	}

	#scheduleNews(): void {
		this.#newsTimer ??= setTimeout(() => {
			this.#newsTimer = null;
			const changed = this.#steps.news();
			if (changed === null && !this.#headerChanged) return;
			this.#headerChanged = false;
			this.#sequence++;
			const nothing = { step: [], stage: [], stages: [], reward: [], dead: [] };
			this.post({ type: 'news', sequence: this.#sequence, run: this.#header(), changed: changed ?? nothing });
		}, newsMs);
	}

	async #text(step: number, group: number, index: number, part: CopyPart): Promise<string> {
		const rollout = await this.#source.rollout(step, group, index);
		return part === 'json' ? JSON.stringify(rollout, null, '\t') : textOf(rollout[part]);
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
