import { engineMain } from '../shared/engineProcess.ts';
import { printDevices } from './run/printDevices.ts';
import { runEngine } from './run/runEngine.ts';
import { serveCheckpoint } from './run/serveCheckpoint.ts';

/**
 * Entry point of the engine process: `--run <folder> [--resume | --parent-checkpoint <folder>]`, `--serve <checkpoint
 * folder> [--until-input-ends]` or `--devices`.
 */
if (process.argv[2] === '--devices') process.exit(await printDevices());
await engineMain((args) => (args.kind === 'run' ? runEngine(args) : serveCheckpoint(args.checkpoint)));
