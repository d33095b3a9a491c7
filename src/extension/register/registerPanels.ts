import type { TranscriptPlace } from '../../protocol/transcriptMessages.ts';
import { addComparisonCommands } from '../commands/comparisonCommands.ts';
import { addDatasetCommands } from '../commands/datasetCommands.ts';
import { addIndexCommands } from '../commands/indexCommands.ts';
import { addOpenCommands } from '../commands/openCommands.ts';
import { addQueryCommands } from '../commands/queryCommands.ts';
import { addTranscriptCommands } from '../commands/transcriptCommands.ts';
import { DiagnosisWatch } from '../diagnosis/diagnosisWatch.ts';
import { panelTypes } from '../ids.ts';
import { LazyPanels } from '../lazyPanels.ts';
import { DatasetEditors } from '../panels/dataset/datasetEditors.ts';
import type { QueryPlace } from '../panels/query/querySession.ts';
import { WindowRolloutIndex } from '../rolloutIndex/windowRolloutIndex.ts';
import type { PytorchServices } from './registerPytorch.ts';
import type { RunServices } from './registerRuns.ts';
import type { SearchServices } from './registerSearches.ts';
import type { WindowServices } from './registerWindow.ts';

/** Panels for runs, rollouts, transcripts, and datasets. */
export interface PanelServices {
	readonly openDashboard: (folder: string) => Promise<void>;
	readonly datasets: DatasetEditors;
}

export function registerPanels(
	services: WindowServices & RunServices & PytorchServices & SearchServices,
): PanelServices {
	const { context, keep, extension, storage, log, notices, table, panels, client } = services;
	const { registry, workspaceRuns, store, picker, pytorch, policies } = services;
	const rolloutIndex = keep(
		new WindowRolloutIndex({ extension, storage: context.storageUri, store, log: (message) => log.info(message) }),
	);
	const dashboards = keep(
		new LazyPanels(panelTypes.dashboard, async () => {
			const { dashboardPanels } = await import('../panels/dashboard/dashboardPanel.ts');
			return dashboardPanels({ ...panels, diagnosis });
		}),
	);
	const openDashboard = (folder: string) => dashboards.open(folder);
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
			return rolloutsPanels({ ...panels, programs, client, notices, rolloutIndex });
		}),
	);
	const diagnosis: DiagnosisWatch = keep(
		new DiagnosisWatch({
			...{ store, notices, storage, log, openDashboard },
			openRollouts: (folder, place) => rollouts.open(folder, place),
		}),
	);
	const comparisons = keep(
		new LazyPanels<never, readonly string[]>(panelTypes.comparison, async () => {
			const { runComparisonPanels } = await import('../panels/comparison/runComparisonPanel.ts');
			return runComparisonPanels(panels);
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
	const datasets = keep(
		new DatasetEditors(async (panel, uri) => {
			const { DatasetPanel } = await import('../panels/dataset/datasetPanel.ts');
			const environment = () => pytorch.ifThere();
			const needs = { extension, storage, store, policies: () => policies.get(), environment };
			return new DatasetPanel(panel, panels, uri, needs);
		}),
	);
	addOpenCommands(table, { picker, store, registry, workspaceRuns, dashboards, rollouts });
	addTranscriptCommands(table, transcripts);
	addDatasetCommands(table, { storage, python: async () => (await pytorch.get()).python.find() });
	addQueryCommands(table, queries);
	addComparisonCommands(table, { picker, store, comparisons });
	addIndexCommands(table, rolloutIndex);
	return { openDashboard, datasets };
}
