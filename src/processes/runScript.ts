import { type ProgramOptions, type ProgramResult, runProgram } from './runProgram.ts';

/** Runs a Node script to completion, with the Node or Electron of this process. Fails like `runProgram`. */
export function runScript(
	path: string,
	args: readonly string[],
	{ environment = {}, ...options }: ProgramOptions = {},
): Promise<ProgramResult> {
	const electron = process.versions.electron === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' };
	return runProgram(process.execPath, [path, ...args], { ...options, environment: { ...electron, ...environment } });
}
