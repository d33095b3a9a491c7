import { engineMain } from '../shared/engineProcess.ts';
import { holdDevice, releaseDevice } from './compute/heldDevice.ts';
import { printDevices } from './run/printDevices.ts';
import { runEngine } from './run/runEngine.ts';
import { serveCheckpoint } from './run/serveCheckpoint.ts';

/**
 * Entry point of the engine process: `--run <folder> [--resume | --parent-checkpoint <folder>]`, `--serve <checkpoint
 * folder> [--until-input-ends]`, `--devices`, or `--open-webgpu`, with which the engine asks another process for the log
 * of the Vulkan loader.
 */
if (process.argv[2] === '--devices') process.exit(await printDevices());
if (process.argv[2] === '--open-webgpu') {
	await holdDevice('webgpu');
	await releaseDevice('webgpu');
	process.exit(0);
}
await engineMain((args) => (args.kind === 'run' ? runEngine(args) : serveCheckpoint(args.checkpoint)));
