import { createInterface } from 'node:readline/promises';
import { Failure } from '../base/failure.ts';
import { type Agree, foreignCodeWords } from '../runs/foreignCode.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { flag, type Options } from './options.ts';

export const runCodeOption = {
	'run-code': flag(
		'Do not ask before running reward files from a run that was not started on this machine, or before using its servers.',
	),
} as const satisfies Options;

/**
 * Returns the CLI's consent check for running third-party code: granted by `--run-code`, asked for at a terminal, and
 * otherwise rejected with `denied`.
 */
export function agreement(output: CliOutput, runCode: boolean | undefined): Agree {
	return async (code) => {
		if (runCode === true) return true;
		const words = printable(foreignCodeWords(code));
		if (output.json || !process.stdin.isTTY || !process.stderr.isTTY) {
			throw new Failure('denied', words, 'Review them, then add --run-code.');
		}
		const terminal = createInterface({ input: process.stdin, output: process.stderr });
		try {
			return /^y(es)?$/i.test((await terminal.question(`${words}\nContinue? [y/N] `)).trim());
		} finally {
			terminal.close();
		}
	};
}
