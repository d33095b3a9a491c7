import { addEnvironmentCommands, LazyEnvironments } from '../environments/lazyEnvironments.ts';
import type { RewardServices } from './registerRewards.ts';
import type { WindowServices } from './registerWindow.ts';

/** Editor features for environment files. */
export interface EnvironmentServices {
	readonly environments: LazyEnvironments;
}

export function registerEnvironments(services: WindowServices & RewardServices): EnvironmentServices {
	const { keep, extension, table, environment } = services;
	const environments = keep(
		new LazyEnvironments(async () => {
			const { EnvironmentWorkbench } = await import('../environments/environmentWorkbench.ts');
			return new EnvironmentWorkbench(extension, environment);
		}),
	);
	addEnvironmentCommands(table, environments);
	return { environments };
}
