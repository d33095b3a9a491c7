import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CliOutput } from './cli/cliOutput.ts';
import { runCommandLine } from './cli/runCommandLine.ts';

/** Path of dist/engine.js next to dist/cli.js, or of the source file when the CLI itself runs from source. */
function enginePath(): string {
	const built = fileURLToPath(new URL('./engine.js', import.meta.url));
	return existsSync(built) ? built : fileURLToPath(new URL('./engines/embedded/main.ts', import.meta.url));
}

// Exit quietly, without a stack trace, when the reader (head, less) closes the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
	if (error.code === 'EPIPE') process.exit(0);
	throw error;
});

// No top-level `await`: the verb modules import this module, so the import cycle would deadlock. The default exit code
// is 1 so that a verb that never settles is reported as an error.
process.exitCode = 1;
const argv = process.argv.slice(2);
void runCommandLine(argv, new CliOutput(argv.includes('--json')), enginePath()).then((code) => {
	process.exitCode = code;
});
