import type { EngineProcess } from '../shared/engineProcess.ts';
import { type RunArguments, runWith } from '../shared/engineRun.ts';
import { type DriverOptions, DriverTraining } from './driverTraining.ts';
import { driverVersions } from './driverVersions.ts';
import { trainerExtensions } from './trainerPolicy.ts';

/**
 * Executes the run in a run folder with a trainer.
 * @param name engine specified in the recipe
 */
export function runDriver(args: RunArguments, name: 'pytorch' | 'ray', options: DriverOptions): EngineProcess {
	return runWith(
		{
			name,
			versions: driverVersions,
			extensions: trainerExtensions,
			heads: false,
			open: (run) => new DriverTraining(run, options),
		},
		args,
	);
}
