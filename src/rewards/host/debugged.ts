import { readFile, writeFile } from 'node:fs/promises';
import { LoadFault } from './importFile.ts';
import { messageOf } from './userFrames.ts';

/**
 * Debugger mode: reads a request from a file, runs it, then writes `{reply}` or `{failure}` to another file. Output is not
 * captured, so it appears in the debug console.
 */
export async function answerOnce(
	requestPath: string,
	replyPath: string,
	run: (request: unknown) => Promise<object>,
): Promise<void> {
	let outcome: object;
	try {
		outcome = { reply: await run(JSON.parse(await readFile(requestPath, 'utf8'))) };
	} catch (error) {
		const failure = error instanceof LoadFault ? error.data : { reason: 'internal', message: messageOf(error) };
		outcome = { failure };
	}
	await writeFile(replyPath, JSON.stringify(outcome));
}
