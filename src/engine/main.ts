import { Failure } from '../base/failure.ts';
import { parseEngineArguments } from './run/engineArguments.ts';
import { runEngine } from './run/runEngine.ts';
import { serveCheckpoint } from './run/serveCheckpoint.ts';

/** The engine's process: `--run <folder> [--resume | --parent-checkpoint <folder>]` or `--serve <checkpoint folder> [--until-input-ends]`. */
async function main(): Promise<number> {
	const args = parseEngineArguments(process.argv.slice(2), process.cwd());
	const engine = args.kind === 'run' ? runEngine(args) : serveCheckpoint(args.checkpoint);
	if (args.kind === 'serve' && args.untilInputEnds) process.stdin.resume().once('close', () => engine.stop());
	let asked = false;
	const stop = () => {
		if (asked) {
			// Who asks twice does not want to wait; what is on disk is whole at any moment. An orderly exit would wait for
			// the compute threads.
			process.removeAllListeners('SIGTERM');
			process.kill(process.pid, 'SIGTERM');
			return;
		}
		asked = true;
		engine.stop();
	};
	process.on('SIGTERM', stop);
	process.on('SIGINT', stop);
	// A run outlives the terminal that it was started from.
	process.on('SIGHUP', () => undefined);
	process.on('uncaughtException', (error) => engine.crash(error));
	process.on('unhandledRejection', (error) => engine.crash(error));
	return engine.exit;
}

try {
	process.exit(await main());
} catch (error) {
	process.stderr.write(`${Failure.from(error).toString()}\n`);
	process.exit(2);
}
