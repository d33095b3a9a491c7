import { dirname } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import type { Alert } from '../../../protocol/alert.ts';
import {
	type ChartExport,
	type DashboardAction,
	type DashboardCommand,
	type DashboardEvent,
	dashboardCommandSchema,
	dashboardRequests,
	type NextStep,
} from '../../../protocol/dashboardMessages.ts';
import type { DiagnosisLease } from '../../diagnosis/diagnoses.ts';
import type { DiagnosisWatch } from '../../diagnosis/diagnosisWatch.ts';
import { type CommandId, commandIds, panelTypes, settingIds } from '../../ids.ts';
import { displayText } from '../../runView.ts';
import { settings } from '../../settings.ts';
import { type PanelContext, type RequestHandlers, RunPanel } from '../panelBase.ts';
import type { PanelSet } from '../panelSet.ts';
import { PinnedCharts } from '../pinnedCharts.ts';
import { runPanels } from '../runPanels.ts';
import { type DashboardPlace, DashboardSession } from './dashboardSession.ts';

const app = {
	name: 'dashboard',
	viewType: panelTypes.dashboard,
	commands: dashboardCommandSchema,
	requests: dashboardRequests,
} as const;

const commandOf: Readonly<Record<DashboardAction, CommandId>> = {
	pause: commandIds.pauseRun,
	continue: commandIds.continueRun,
	stop: commandIds.stopRun,
	checkpoint: commandIds.saveCheckpoint,
	resume: commandIds.resumeRun,
	hyperparameters: commandIds.setHyperparameters,
	openLog: commandIds.openLog,
	openFolder: commandIds.openRunFolder,
	setUpPytorch: commandIds.setUpPytorch,
};

const nextCommands: Readonly<Record<Exclude<NextStep, 'showAdvice'>, CommandId>> = {
	evaluate: commandIds.evaluateCheckpoint,
	tryInPlayground: commandIds.tryInPlayground,
	compare: commandIds.compareRuns,
	query: commandIds.queryRollouts,
};

export interface DashboardContext extends PanelContext {
	readonly diagnosis: Pick<DiagnosisWatch, 'diagnoses'>;
	/** Workspace state. */
	readonly memory: vscode.Memento;
}

/** A panel with the metrics of one run, live or finished. */
export class DashboardPanel extends RunPanel<DashboardEvent, DashboardCommand, typeof dashboardRequests> {
	readonly #session: DashboardSession;
	readonly #diagnosis: DashboardContext['diagnosis'];
	#lease: DiagnosisLease | null = null;
	#leaseListener: vscode.Disposable | null = null;
	protected readonly handlers: RequestHandlers<typeof dashboardRequests>;

	constructor(panel: vscode.WebviewPanel, context: DashboardContext, runFolder: string) {
		super(panel, context, app, runFolder);
		this.#diagnosis = context.diagnosis;
		this.#session = this.register(
			new DashboardSession(runFolder, {
				post: (event) => this.post(event),
				onName: (name) => {
					this.title = displayText(name, 60);
				},
			}),
		);
		const pinned = this.register(new PinnedCharts(context.memory));
		this.handlers = {
			pinned: () => ({ charts: pinned.charts }),
			pin: async ({ chart, pinned: on }) => {
				await pinned.pin(chart, on);
				return {};
			},
			act: async ({ action }) => {
				await vscode.commands.executeCommand(commandOf[action], ...(action === 'setUpPytorch' ? [] : [runFolder]));
				// Refresh now instead of waiting for the next poll, because the action changed the run's files.
				void this.#session.refresh();
				return {};
			},
			next: async ({ step }) => {
				// For advice, the webview sends `showRecipe` with the ID of an alert instead.
				if (step !== 'showAdvice') await vscode.commands.executeCommand(nextCommands[step], runFolder);
				return {};
			},
			openRollouts: async ({ step }) => {
				const place = this.#session.rolloutStepFor(step);
				await vscode.commands.executeCommand(
					commandIds.openRollouts,
					runFolder,
					...(place === null ? [] : [{ step: place }]),
				);
				return {};
			},
			save: ({ name, kind, bytes }) => save(runFolder, name, kind, bytes),
			showEvidence: async ({ id, item }) => {
				const alert = this.#alert(id);
				const place = item === null ? undefined : alert.evidence[item];
				const step = place?.step ?? this.#session.rolloutStepFor(alert.lastStep);
				await vscode.commands.executeCommand(
					commandIds.openRollouts,
					runFolder,
					...(step === null ? [] : [{ ...place, step }]),
				);
				return {};
			},
			showRecipe: async ({ id }) => {
				const { recipe } = this.#alert(id);
				const { showRecipeLine } = await import('../../diagnosis/recipeLine.ts');
				await showRecipeLine(runFolder, this.#lease?.diagnosis.record?.name ?? '', recipe?.path ?? []);
				return {};
			},
			applyAdvice: async ({ id }) => {
				const { recipe } = this.#alert(id);
				const { applyAdvice } = await import('../../diagnosis/recipeLine.ts');
				await applyAdvice(runFolder, this.#lease?.diagnosis.record?.name ?? '', recipe?.edits ?? []);
				return {};
			},
			dismissAlert: async ({ id, dismissed }) => {
				await this.#lease?.diagnosis.dismiss(id, dismissed);
				return {};
			},
			openDiagnosisSetting: async () => {
				await vscode.commands.executeCommand('workbench.action.openSettings', settingIds.diagnosis);
				return {};
			},
		};
		this.register(settings.onDidChangeDiagnosis(() => void this.#diagnose()));
		this.register({ dispose: () => this.#endLease() });
		void this.#diagnose();
		this.load(context);
	}

	/** Shows a step and a metric, immediately or once the app has started. */
	show(place: DashboardPlace): void {
		this.#session.show(place);
	}

	/** Starts or stops diagnosing the run, depending on the setting. */
	async #diagnose(): Promise<void> {
		const diagnoses = await this.#diagnosis.diagnoses();
		this.#endLease();
		if (this.disposed) return;
		if (diagnoses === null) {
			this.#session.setAlerts({ phase: 'off', alerts: [], summary: null });
			return;
		}
		const lease = diagnoses.lease(this.runFolder);
		this.#lease = lease;
		const { dashboardAlertsOf } = await import('../../diagnosis/dashboardAlerts.ts');
		if (this.disposed || this.#lease !== lease) return;
		const show = (): void => this.#session.setAlerts(dashboardAlertsOf(lease.diagnosis.state));
		this.#leaseListener = lease.diagnosis.onDidChange(show);
		show();
	}

	#endLease(): void {
		this.#leaseListener?.dispose();
		this.#lease?.dispose();
		this.#leaseListener = null;
		this.#lease = null;
	}

	#alert(id: string): Alert {
		const found = this.#lease?.diagnosis.state.alerts.find(({ alert }) => alert.id === id);
		if (found !== undefined) return found.alert;
		throw new Failure('missing', 'This alert no longer exists.', 'Refresh the list and try again.');
	}

	protected override onShown(shown: boolean): void {
		this.#session.shown = shown;
	}

	protected override onCommand(command: DashboardCommand): void {
		switch (command.type) {
			case 'ready':
			case 'resync':
				this.#session.begin();
				break;
			case 'fault':
				this.log.error(`dashboard: ${command.message}`);
				break;
		}
	}
}

const filters = { png: { Pictures: ['png'] }, csv: { 'Comma-separated values': ['csv'] } };

/** Asks for a location (by default, next to the runs) and writes the file. */
async function save(
	runFolder: string,
	name: string,
	kind: ChartExport,
	bytes: Uint8Array,
): Promise<{ saved: boolean }> {
	// The name comes from the webview; restrict it to a plain file name.
	const plain = name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+/, '') || `export.${kind}`;
	const target = await vscode.window.showSaveDialog({
		defaultUri: vscode.Uri.joinPath(vscode.Uri.file(dirname(dirname(runFolder))), plain),
		filters: filters[kind],
		title: `Save ${plain}`,
	});
	if (!target) return { saved: false };
	try {
		await vscode.workspace.fs.writeFile(target, bytes);
	} catch (error) {
		throw new Failure('denied', `Cannot write ${target.fsPath}: ${String(error)}`, 'Choose another folder.');
	}
	return { saved: true };
}

/** Creates the panel set for dashboards, with one panel per run. */
export function dashboardPanels(context: DashboardContext): PanelSet<DashboardPanel, string, DashboardPlace> {
	return runPanels<DashboardPanel, DashboardPlace>(
		context,
		panelTypes.dashboard,
		(panel, folder) => new DashboardPanel(panel, context, folder),
		(panel, place) => panel.show(place),
	);
}
