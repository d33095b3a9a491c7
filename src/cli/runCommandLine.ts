import { Failure, type Reason } from '../base/failure.ts';
import type { CliOutput } from './cliOutput.ts';
import { requireNode } from './requireNode.ts';
import { findVerb } from './verbs.ts';

/** Failure reasons not caused by user input: the run failed or the other side did not respond. */
const failedReasons: readonly Reason[] = ['internal', 'timeout', 'unavailable', 'cancelled'];

/**
 * Runs one command and reports its failure, if any, to `output`.
 * @param argv command name and arguments
 * @param engine path of the engine's entry point
 * @returns exit status: that of the command, 1 if it failed, or 2 if its input is invalid
 */
export async function runCommandLine(argv: readonly string[], output: CliOutput, engine: string): Promise<number> {
	try {
		const [name = 'help', ...args] = argv.filter((argument, i) => !(i === 0 && argument === '--json'));
		const asked = name === '--help' || name === '-h' ? 'help' : name === '--version' ? 'version' : name;
		const wantsHelp = asked !== 'help' && (args.includes('--help') || args.includes('-h'));
		const verb = await findVerb(wantsHelp ? 'help' : asked);
		requireNode(wantsHelp ? 'help' : asked);
		return await verb.run({ output, args: wantsHelp ? [asked] : args, engine });
	} catch (error) {
		const failure = output.failure(error);
		if (failure.reason === 'internal' && !(error instanceof Failure) && process.env.REASONING_LAB_DEBUG) {
			console.error(error);
		}
		return failedReasons.includes(failure.reason) ? 1 : 2;
	}
}
