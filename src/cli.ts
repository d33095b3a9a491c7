import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Failure, type Reason } from './base/failure.ts';
import { CliOutput } from './cli/cliOutput.ts';
import { requireNode } from './cli/requireNode.ts';
import { findVerb } from './cli/verbs.ts';

/** Failure reasons not caused by user input: the run failed or the other side did not respond. */
const failedReasons: readonly Reason[] = ['internal', 'timeout', 'unavailable', 'cancelled'];

/** Path of dist/engine.js next to dist/cli.js, or of the source file when the CLI itself runs from source. */
function enginePath(): string {
	const built = fileURLToPath(new URL('./engine.js', import.meta.url));
	return existsSync(built) ? built : fileURLToPath(new URL('./engines/embedded/main.ts', import.meta.url));
}

async function main(argv: readonly string[]): Promise<number> {
	const json = argv.includes('--json');
	const output = new CliOutput(json);
	try {
		const [name = 'help', ...args] = argv.filter((argument, i) => !(i === 0 && argument === '--json'));
		const asked = name === '--help' || name === '-h' ? 'help' : name === '--version' ? 'version' : name;
		const wantsHelp = asked !== 'help' && (args.includes('--help') || args.includes('-h'));
		const verb = await findVerb(wantsHelp ? 'help' : asked);
		requireNode(wantsHelp ? 'help' : asked);
		return await verb.run({ output, args: wantsHelp ? [asked] : args, engine: enginePath() });
	} catch (error) {
		const failure = output.failure(error);
		if (failure.reason === 'internal' && !(error instanceof Failure) && process.env.REASONING_LAB_DEBUG) {
			console.error(error);
		}
		return failedReasons.includes(failure.reason) ? 1 : 2;
	}
}

// Exit quietly, without a stack trace, when the reader (head, less) closes the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
	if (error.code === 'EPIPE') process.exit(0);
	throw error;
});

// No top-level `await`: the verb modules import this module, so the import cycle would deadlock. The default exit code
// is 1 so that a verb that never settles is reported as an error.
process.exitCode = 1;
void main(process.argv.slice(2)).then((code) => {
	process.exitCode = code;
});
