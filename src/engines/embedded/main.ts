import { engineMain } from '../shared/engineProcess.ts';
import { runEngine } from './run/runEngine.ts';
import { serveCheckpoint } from './run/serveCheckpoint.ts';

/**
 * Entry point of the engine process: `--run <folder> [--resume | --parent-checkpoint <folder>]` or `--serve <checkpoint
 * folder> [--until-input-ends]`.
 */
await engineMain((args) => (args.kind === 'run' ? runEngine(args) : serveCheckpoint(args.checkpoint)));
