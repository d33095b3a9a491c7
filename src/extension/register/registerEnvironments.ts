import { addEnvironmentCommands, LazyEnvironments } from '../environments/lazyEnvironments.ts';
import { commandIds, panelTypes } from '../ids.ts';
import { LazyPanels } from '../lazyPanels.ts';
import type { EpisodePanel } from '../panels/episode/episodePanel.ts';
import type { EpisodePlace, OpenedEpisode } from '../panels/episode/episodePlace.ts';
import type { RewardServices } from './registerRewards.ts';
import type { WindowServices } from './registerWindow.ts';

/** Episode views, one per environment file. */
export type EpisodePanels = LazyPanels<OpenedEpisode, EpisodePlace, EpisodePanel>;

/** Editor features for environment files. */
export interface EnvironmentServices {
	readonly environments: LazyEnvironments;
	readonly episodes: EpisodePanels;
}

export function registerEnvironments(services: WindowServices & RewardServices): EnvironmentServices {
	const { keep, extension, table, environment, panels, notices } = services;
	const environments = keep(
		new LazyEnvironments(async () => {
			const { EnvironmentWorkbench } = await import('../environments/environmentWorkbench.ts');
			return new EnvironmentWorkbench(extension, environment);
		}),
	);
	const episodes = keep(
		new LazyPanels<OpenedEpisode, EpisodePlace, EpisodePanel>(panelTypes.episode, async () => {
			const [{ episodePanels }, workbench] = await Promise.all([
				import('../panels/episode/episodePanels.ts'),
				environments.get(),
			]);
			return episodePanels({ ...panels, notices, environments: workbench });
		}),
	);
	addEnvironmentCommands(table, environments);
	table.addLater([commandIds.stepEnvironment, commandIds.openEpisode], async () => {
		const { episodeCommands } = await import('../panels/episode/episodeCommands.ts');
		return episodeCommands({ panels: episodes, environments: await environments.get() });
	});
	return { environments, episodes };
}
