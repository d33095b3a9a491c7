import * as vscode from 'vscode';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import type { TranscriptPlace } from '../../protocol/transcriptMessages.ts';
import { addIndexCommands } from '../commands/indexCommands.ts';
import type { DiagnosisWatch } from '../diagnosis/diagnosisWatch.ts';
import { commandIds, panelTypes, runFileType } from '../ids.ts';
import { Lazy } from '../lazy.ts';
import { LazyPanels } from '../lazyPanels.ts';
import { DatasetEditors } from '../panels/dataset/datasetEditors.ts';
import type { QueryPlace } from '../panels/query/querySession.ts';
import { WindowRolloutIndex } from '../rolloutIndex/windowRolloutIndex.ts';
import type { EnvironmentServices } from './registerEnvironments.ts';
import type { PytorchServices } from './registerPytorch.ts';
import type { RunServices } from './registerRuns.ts';
import type { SearchServices } from './registerSearches.ts';
import type { WindowServices } from './registerWindow.ts';

/** Panels for runs, rollouts, transcripts, and datasets. */
export interface PanelServices {
	readonly openDashboard: (folder: string) => Promise<void>;
	readonly openPipelineGraph: (folder: string) => Promise<unknown>;
	readonly datasets: DatasetEditors;
	readonly diagnosis: Lazy<DiagnosisWatch>;
}

export function registerPanels(
	services: WindowServices & RunServices & PytorchServices & SearchServices & EnvironmentServices,
): PanelServices {
	const { context, keep, extension, storage, log, notices, table, panels, client } = services;
	const { registry, workspaceRuns, store, tree, picker, pytorch, policies, episodes } = services;
	const rolloutIndex = keep(
		new WindowRolloutIndex({ extension, storage: context.storageUri, store, log: (message) => log.info(message) }),
	);
	const dashboards = keep(
		new LazyPanels(panelTypes.dashboard, async () => {
			const { dashboardPanels } = await import('../panels/dashboard/dashboardPanel.ts');
			return dashboardPanels({ ...panels, diagnosis: await diagnosis.get(), memory: context.workspaceState });
		}),
	);
	const openDashboard = async (folder: string) => {
		await dashboards.open(folder);
	};
	const rollouts = keep(
		new LazyPanels(panelTypes.rollouts, async () => {
			const [{ rolloutsPanels }, { launchSettings, requireTrust }] = await Promise.all([
				import('../panels/rollouts/rolloutsPanel.ts'),
				import('../launchSettings.ts'),
			]);
			const programs = async () => {
				requireTrust();
				return { ...(await launchSettings(extension)), environment: await pytorch.ifThere() };
			};
			const openEpisode = async (run: string, line: RolloutLine) => {
				const { openedRollout } = await import('../panels/episode/rolloutEpisodes.ts');
				const { place, episode } = await openedRollout(run, line);
				await episodes.open(place, episode);
			};
			return rolloutsPanels({ ...panels, programs, client, notices, rolloutIndex, openEpisode });
		}),
	);
	const diagnosis: Lazy<DiagnosisWatch> = keep(
		new Lazy(async () => {
			const { DiagnosisWatch } = await import('../diagnosis/diagnosisWatch.ts');
			return new DiagnosisWatch({
				...{ store, notices, storage, log, openDashboard },
				openRollouts: (folder, place) => rollouts.open(folder, place),
			});
		}),
	);
	const queries = keep(
		new LazyPanels<never, QueryPlace>(panelTypes.query, async () => {
			const { queryPanels } = await import('../panels/query/queryPanel.ts');
			return queryPanels({ ...panels, rolloutIndex, store, memory: context.workspaceState });
		}),
	);
	const transcripts = keep(
		new LazyPanels<never, TranscriptPlace>(panelTypes.transcript, async () => {
			const { transcriptPanels } = await import('../panels/transcript/transcriptPanel.ts');
			return transcriptPanels(panels);
		}),
	);
	const datasets: DatasetEditors = keep(
		new DatasetEditors(async (panel, uri) => {
			const { DatasetPanel } = await import('../panels/dataset/datasetPanel.ts');
			const environment = () => pytorch.ifThere();
			const needs = { extension, storage, store, policies: () => policies.get(), environment };
			return new DatasetPanel(panel, panels, uri, { ...needs, rows: datasets.rows });
		}),
	);
	keep(
		vscode.window.registerCustomEditorProvider(runFileType, {
			openCustomDocument: (uri) => ({ uri, dispose() {} }),
			async resolveCustomEditor({ uri }, panel) {
				const { openRunOf } = await import('../runFileEditor.ts');
				await openRunOf(uri, panel);
			},
		}),
	);
	table.addLater(
		[
			...[commandIds.openDashboard, commandIds.openRollouts, commandIds.openAddress],
			...[commandIds.openRunFolder, commandIds.openLog],
			...[commandIds.addRunFolder, commandIds.openAsRun, commandIds.showOtherRuns],
			...[commandIds.forgetRun, commandIds.refreshRuns],
		],
		async () => {
			const { openCommands } = await import('../commands/openCommands.ts');
			return openCommands({ picker, tree, store, registry: await registry(), workspaceRuns, dashboards, rollouts });
		},
	);
	table.addLater([commandIds.openTranscript], async () => {
		const { transcriptCommands } = await import('../commands/transcriptCommands.ts');
		return transcriptCommands(transcripts);
	});
	table.addLater([commandIds.openDataset], async () => {
		const { datasetCommands } = await import('../commands/datasetCommands.ts');
		return datasetCommands({ storage, python: async () => (await pytorch.get()).python.find() }, datasets);
	});
	table.addLater([commandIds.queryRollouts], async () => {
		const { queryCommands } = await import('../commands/queryCommands.ts');
		return queryCommands(queries);
	});
	addIndexCommands(table, rolloutIndex);
	return { openDashboard, openPipelineGraph: registerOverviews(services), datasets, diagnosis };
}

/**
 * Panels for several runs: comparisons, the table of runs, pipeline graphs, and reports.
 * @returns a function that opens the graph of the pipeline in a folder
 */
function registerOverviews(
	services: WindowServices & RunServices & SearchServices,
): PanelServices['openPipelineGraph'] {
	const { context, keep, table, panels, store, picker, pipelines } = services;
	const comparisons = keep(
		new LazyPanels<never, readonly string[]>(panelTypes.comparison, async () => {
			const { runComparisonPanels } = await import('../panels/comparison/runComparisonPanel.ts');
			return runComparisonPanels({ ...panels, memory: context.workspaceState });
		}),
	);
	const pipelineGraphs = keep(
		new LazyPanels<never>(panelTypes.pipelineGraph, async () => {
			const { pipelinePanels } = await import('../panels/pipelineGraph/pipelinePanel.ts');
			return pipelinePanels({ ...panels, pipelines });
		}),
	);
	const runTables = keep(
		new LazyPanels<never, null>(panelTypes.runTable, async () => {
			const { runTablePanels } = await import('../panels/runTable/runTablePanel.ts');
			return runTablePanels({ ...panels, store });
		}),
	);
	table.add(commandIds.openRunTable, () => runTables.open(null));
	const reports = keep(
		new LazyPanels<never>(panelTypes.report, async () =>
			(await import('../panels/report/reportPanel.ts')).reportPanels(panels),
		),
	);
	table.addLater([commandIds.openReport], async () =>
		(await import('../commands/reportViewCommands.ts')).reportViewCommands(reports),
	);
	table.addLater([commandIds.compareRuns], async () => {
		const { comparisonCommands } = await import('../commands/comparisonCommands.ts');
		return comparisonCommands({ picker, store, comparisons });
	});
	return (folder) => pipelineGraphs.open(folder);
}
