import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Failure, type Reason } from './base/failure.ts';
import { CliOutput } from './cli/cliOutput.ts';
import { requireNode } from './cli/requireNode.ts';
import { findVerb } from './cli/verbs.ts';

/** Reasons that are nobody's input: the run failed, or the other side did not answer. */
const failedReasons: readonly Reason[] = ['internal', 'timeout', 'unavailable', 'cancelled'];

/** dist/engine.js beside dist/cli.js; the source when the command line itself runs from source. */
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

// A reader that goes away (head, less) ends the output, not with a stack.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
	if (error.code === 'EPIPE') process.exit(0);
	throw error;
});

// No `await` at this level: the files of the verbs import this one, and would wait for it while it waits for them. A verb
// that never settles ends like an error, not like success.
process.exitCode = 1;
void main(process.argv.slice(2)).then((code) => {
	process.exitCode = code;
});
