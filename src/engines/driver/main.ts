import { Failure } from '../../base/failure.ts';
import { engineOfRun } from '../../runs/enginePrograms.ts';
import { engineMain } from '../shared/engineProcess.ts';
import { takeDriverArguments } from './driverArguments.ts';
import { runRayEngine } from './ray/rayEngine.ts';
import { runDriver } from './runDriver.ts';
import { serveTorch } from './serveTorch.ts';

/**
 * Engine process for recipes whose training runs in a separate process. Accepts the embedded engine's arguments, plus
 * `--join [--requests <folder>]` if the trainer is started externally.
 */
async function main(): Promise<void> {
	const { options, rest } = takeDriverArguments(process.argv.slice(2), process.cwd());
	await engineMain(async (args) => {
		if (args.kind === 'serve') return serveTorch(args.checkpoint);
		const engine = await engineOfRun(args.run);
		if (engine === 'embedded') {
			throw new Failure('unsupported', `${args.run} does not contain a recipe for the pytorch or ray engine.`);
		}
		return engine === 'ray' && !options.join
			? runRayEngine(args)
			: runDriver(args, engine === 'ray' ? 'ray' : 'pytorch', options);
	}, rest);
}

try {
	await main();
} catch (error) {
	process.stderr.write(`${Failure.from(error).toString()}\n`);
	process.exit(2);
}
