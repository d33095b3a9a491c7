import { parseArgs } from 'node:util';
import { Failure } from '../base/failure.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { parallelSchema } from '../protocol/pipeline.ts';
import { PipelineRunner } from './pipelineRunner.ts';

/**
 * Entry point of the runner process: `--pipeline <folder> --engine <program> [--recipe <file>] [--accept-changes] [--parallel <stages>]`.
 * Exits with 0 if the pipeline finished or was stopped, 1 if a stage failed, or 2 if it could not start, with the
 * failure as JSON on stderr.
 */
async function main(): Promise<number> {
	const { values } = parseArgs({
		options: {
			pipeline: { type: 'string' },
			engine: { type: 'string' },
			recipe: { type: 'string' },
			'accept-changes': { type: 'boolean' },
			parallel: { type: 'string' },
		},
	});
	const { pipeline, engine } = values;
	if (pipeline === undefined || engine === undefined) {
		throw new Failure('invalid', 'The runner requires --pipeline and --engine.', 'Use reasoning-lab run to start it.');
	}
	return PipelineRunner.run(
		{
			folder: pipeline,
			engine,
			recipe: values.recipe ?? null,
			acceptChanges: values['accept-changes'] ?? false,
			parallel:
				values.parallel === undefined ? null : decodeOrThrow(parallelSchema, Number(values.parallel), '--parallel'),
		},
		(stop) => {
			process.on('SIGTERM', stop);
			process.on('SIGINT', stop);
			// Keep running after the terminal closes.
			process.on('SIGHUP', () => undefined);
		},
	);
}

try {
	process.exit(await main());
} catch (error) {
	process.stderr.write(`${JSON.stringify(Failure.from(error).toJSON())}\n`);
	process.exit(2);
}
